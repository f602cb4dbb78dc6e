// Every number among the options of every policy is checked when the policy is bound: NaN,
// infinities, what no float holds, -1, 0 and the ends of integers are refused by the option's name,
// unless the table says that the option takes them.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "sotto/core/layout.hpp"
#include "sotto/distillation/distillation_weight.hpp"
#include "sotto/distillation/forward_kl.hpp"
#include "sotto/distillation/reverse_kl.hpp"
#include "sotto/distillation/soft_cross_entropy.hpp"
#include "sotto/distillation/squared_logit_error.hpp"
#include "sotto/losses/cross_entropy.hpp"
#include "sotto/losses/loss.hpp"
#include "sotto/optimizers/schedules.hpp"
#include "sotto/staleness/ada_delay.hpp"
#include "sotto/staleness/delay_compensation.hpp"
#include "sotto/staleness/delay_compensation_adaptive.hpp"
#include "sotto/staleness/delay_compensation_of_rounds.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/dynamic_stale_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/stale_synchronous.hpp"
#include "sotto/nn/average_pool2d.hpp"
#include "sotto/nn/batch_norm.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/conv2d.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/drop_connect.hpp"
#include "sotto/nn/dropout.hpp"
#include "sotto/nn/embedding.hpp"
#include "sotto/nn/highway.hpp"
#include "sotto/nn/lstm.hpp"
#include "sotto/nn/max_pool2d.hpp"
#include "sotto/nn/detail/option_a_shortcut.hpp"
#include "support/all_gossip_policies.hpp"
#include "support/all_policies.hpp"
#include "support/generators.hpp"
#include "support/sensible.hpp"
#include "support/wrong_options.hpp"

using namespace sotto;

namespace {

/// Binds a policy of any concept, as whoever uses it does.
struct binds {
    layout tensors = testing::small_layout();

    template <class Policy>
    void operator()(const Policy& policy) const {
        if constexpr (detail::rate_schedule<Policy>)
            (void)scheduled{sgd{}, policy}.bind(tensors);
        else if constexpr (nn::layer<Policy>) {
            nn::blueprint plan;
            (void)policy.bind(nn::shape{1, 8, 8}, plan);
        } else if constexpr (distillation_loss<Policy>)
            (void)policy.value({}, 0, {});
        else if constexpr (loss<Policy>)
            (void)policy.value({}, {});
        else if constexpr (detail::distillation_weight<Policy>)
            policy.check();
        else if constexpr (staleness_compensator<Policy>)
            (void)policy.bind(tensors, 4);
        else if constexpr (requires { policy.bind(tensors); })
            (void)policy.bind(tensors);
        else if constexpr (topology<Policy> || consistency<Policy> ||
                           detail::bulk_consistency<Policy>)
            (void)policy.bind(8);
        else
            (void)policy.bind();
    }
};

template <class... Policies>
void try_all(testing::wrong_options& tries, std::type_identity<std::tuple<Policies...>>) {
    (tries.of(testing::sensible<Policies>::options(), binds{}), ...);
}

template <class Policies>
void try_all(testing::wrong_options& tries) {
    try_all(tries, std::type_identity<Policies>{});
}

}  // namespace

TEST_CASE("compressors, optimizers: a wrong option -> bind refuses it by name") {
    testing::wrong_options tries({{"top_k.density", ""},
                                  {"sampled_top_k.density", ""},
                                  {"sampled_top_k.sample_share", ""},
                                  {"random_k.density", ""},
                                  {"threshold.limit", ""},
                                  {"warm_up.epochs", "0"},
                                  {"exponential_warm_up.epochs", "0"},
                                  {"local_clipping.norm", "0"},
                                  {"momentum_corrected.momentum", "0"},
                                  {"momentum_corrected.mask_from_sparsity", "0"},
                                  {"qsgd.bits", ""},
                                  {"qsgd.bucket", ""},
                                  {"terngrad.clip", "inf 1e39 1e300"},
                                  {"terngrad.bucket", ""},
                                  {"error_feedback.decay", "0"},
                                  {"ef21.momentum", "0"},
                                  {"power_sgd.rank", "max"},
                                  {"power_sgd.min_compression_rate", ""},
                                  {"power_sgd.start_after", "0 max"},
                                  {"chunked_top_k.chunk", ""},
                                  {"chunked_top_k.kept", ""},
                                  {"sgd.learning_rate", "0"},
                                  {"sgd.weight_decay", "0"},
                                  {"sgd.decay_momentum", "-1 0"},
                                  {"momentum_sgd.learning_rate", "0"},
                                  {"momentum_sgd.momentum", "0"},
                                  {"momentum_sgd.weight_decay", "0"},
                                  {"adamw.learning_rate", "0"},
                                  {"adamw.beta1", "0"},
                                  {"adamw.beta2", "0"},
                                  {"adamw.epsilon", ""},
                                  {"adamw.weight_decay", "0"},
                                  {"clipped.limit.norm", ""},
                                  {"step_decay.every_epochs", ""},
                                  {"step_decay.factor_per_step", "0"},
                                  {"cosine.epochs", ""},
                                  {"cosine.final_factor", "0"},
                                  {"rate_warm_up.epochs", "0"},
                                  {"rate_warm_up.initial_factor", "0"},
                                  {"dgc.density", ""},
                                  {"dgc.momentum", "0"},
                                  {"dgc.mask_from_sparsity", "0"},
                                  {"dgc.epochs", "0"},
                                  {"dgc.norm", "0"}});
    try_all<testing::every_compressor>(tries);
    try_all<testing::every_optimizer>(tries);
    try_all<std::tuple<step_decay, cosine, rate_warm_up>>(tries);
    // What it describes is a copy; the refusal names the part that the option belongs to.
    const auto with = [&](const char* key, double dgc::*option) {
        tries.option<double>(key, [&](double value) {
            dgc policy;
            policy.*option = value;
            binds{}(policy);
        });
    };
    with("dgc.density", &dgc::density);
    with("dgc.momentum", &dgc::momentum);
    with("dgc.mask_from_sparsity", &dgc::mask_from_sparsity);
    with("dgc.epochs", &dgc::warm_up_epochs);
    with("dgc.norm", &dgc::clip_norm);
    // It describes only what is chosen.
    tries.option<std::int64_t>("power_sgd.start_after", [](std::int64_t value) {
        binds{}(power_sgd{.start_after = value});
    });
    CHECK(tries.left_out().empty());
}

TEST_CASE("staleness, consistency: a wrong option -> bind refuses it by name") {
    testing::wrong_options tries({{"delay_compensation.lambda", "0"},
                                  {"delay_compensation.bound", "0"},
                                  {"delay_compensation_of_rounds.lambda", "0"},
                                  {"delay_compensation_of_rounds.bound", "0"},
                                  {"delay_compensation_adaptive.lambda", "0"},
                                  {"delay_compensation_adaptive.decay", "0"},
                                  {"delay_compensation_adaptive.epsilon", ""},
                                  {"delay_compensation_adaptive.bound", "0"},
                                  {"ada_delay.c", "0"},
                                  {"bulk_synchronous.backups", "0"},
                                  {"stale_synchronous.bound", "0 max"},
                                  {"dynamic_stale_synchronous.lowest", "0"},
                                  {"dynamic_stale_synchronous.highest", ""}});
    try_all<
        std::tuple<delay_compensation, delay_compensation_of_rounds, delay_compensation_adaptive,
                   ada_delay, bulk_synchronous, stale_synchronous, dynamic_stale_synchronous>>(
        tries);
    CHECK(tries.left_out().empty());
}

TEST_CASE("topologies, controllers, mixing: a wrong option -> bind refuses it by name") {
    testing::wrong_options tries({{"topologies::torus.rows", "0"},
                                  {"topologies::torus.columns", "0"},
                                  {"topologies::tree.branches", "max"},
                                  {"topologies::random_regular.degree", ""},
                                  {"topologies::lazy.share", ""},
                                  {"fixed_rounds.rounds", "max"},
                                  {"consensus_control.rho", ""},
                                  {"consensus_control.average", "0"},
                                  {"consensus_control.rounds_max", "max"},
                                  {"exact_consensus_control.rho", ""},
                                  {"exact_consensus_control.average", "0"},
                                  {"exact_consensus_control.rounds_max", "max"},
                                  {"consensus_band.low", "0"},
                                  {"consensus_band.high", ""},
                                  {"consensus_band.average", "0"},
                                  {"consensus_band.rounds_max", "max"},
                                  {"fraction_of_maximum.fraction", ""},
                                  {"fraction_of_maximum.rounds_max", "max"},
                                  {"control_phases.epoch", "0"},
                                  {"mixing::choco.step", ""},
                                  {"mixing::quasi_global_momentum.momentum", "0"},
                                  {"mixing::quasi_global_momentum.follow", "0"},
                                  {"mixing::slow_momentum.every", "max"},
                                  {"mixing::slow_momentum.momentum", "0"},
                                  {"mixing::slow_momentum.factor", ""},
                                  {"a maximum.from_epoch", "0"},
                                  {"a maximum.distance", "0"}});
    try_all<testing::every_topology>(tries);
    try_all<testing::every_controller>(tries);
    try_all<testing::every_mixing_method>(tries);
    const auto with = [&](const char* key, double detail::recorded_maximum::*number) {
        tries.option<double>(key, [&](double value) {
            detail::recorded_maximum first;
            first.*number = value;
            (void)fraction_of_maximum{.maxima = {first}}.bind();
        });
    };
    with("a maximum.from_epoch", &detail::recorded_maximum::from_epoch);
    with("a maximum.distance", &detail::recorded_maximum::distance);
    CHECK(tries.left_out().empty());
}

TEST_CASE("losses, distillation: a wrong option -> refused by name") {
    testing::wrong_options tries({{"cross_entropy.label_smoothing", "0"},
                                  {"soft_cross_entropy.temperature", ""},
                                  {"forward_kl.temperature", ""},
                                  {"reverse_kl.temperature", ""},
                                  {"reverse_kl.floor", ""},
                                  {"constant_weight.weight", "0"},
                                  {"ramped_weight.weight", "0"},
                                  {"ramped_weight.steps", "max"},
                                  {"decayed_weight.weight", "0"},
                                  {"decayed_weight.half_life", "max"}});
    try_all<std::tuple<cross_entropy, soft_cross_entropy, forward_kl, reverse_kl,
                       squared_logit_error, constant_weight, ramped_weight, decayed_weight>>(tries);
    CHECK(tries.left_out().empty());
}

TEST_CASE("layers: a wrong option -> bind refuses it by name") {
    testing::wrong_options tries({{"nn::dense.outputs", ""},
                                  {"nn::conv2d.channels", ""},
                                  {"nn::conv2d.kernel", ""},
                                  {"nn::conv2d.stride", ""},
                                  {"nn::conv2d.padding", "0"},
                                  {"nn::max_pool2d.window", ""},
                                  {"nn::max_pool2d.stride", ""},
                                  {"nn::average_pool2d.window", ""},
                                  {"nn::batch_norm.momentum", "0"},
                                  {"nn::batch_norm.epsilon", ""},
                                  {"nn::dropout.rate", "0"},
                                  {"nn::drop_connect.rate", "0"},
                                  {"nn::embedding.vocabulary", ""},
                                  {"nn::embedding.width", ""},
                                  {"nn::average_pool2d.stride", ""},
                                  {"nn::lstm.hidden", ""},
                                  {"nn::lstm.layers", ""},
                                  {"nn::option_a_shortcut.channels", ""},
                                  {"nn::option_a_shortcut.stride", ""},
                                  {"nn::highway.gate_bias", "-1 0"}});
    try_all<std::tuple<nn::dense, nn::conv2d, nn::max_pool2d, nn::average_pool2d, nn::batch_norm,
                       nn::dropout, nn::drop_connect, nn::embedding, nn::lstm,
                       detail::nn::option_a_shortcut>>(tries);
    // Its layers keep the shape.
    const nn::highway gated{nn::conv2d{.kernel = 1}, nn::conv2d{.kernel = 1}, -2.0};
    tries.option<double>("nn::highway.gate_bias", [&](double value) {
        auto changed = gated;
        changed.gate_bias = value;
        binds{}(changed);
    });
    CHECK(tries.left_out().empty());
}
