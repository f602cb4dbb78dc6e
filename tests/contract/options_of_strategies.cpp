// Every number among the options of a strategy is checked when ranks bind it: see options.cpp.

#include <doctest/doctest.h>

#include <cstdint>

#include "sotto/compressors/dgc.hpp"
#include "sotto/distillation/forward_kl.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/codistillation/exchanges/checkpoint_exchange.hpp"
#include "sotto/strategies/codistillation.hpp"
#include "sotto/strategies/codistillation/exchanges/finished_models.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/strategies/noloco.hpp"
#include "sotto/strategies/codistillation/exchanges/transport_exchange.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/generators.hpp"
#include "support/wrong_options.hpp"

using namespace sotto;

namespace {

/// Binds a strategy on two ranks, which are in one process.
const auto on_two_ranks = [](const auto& strategy) {
    const layout tensors = testing::small_layout();
    run_in_process(2, {}, [&](in_process& rank) { (void)strategy.bind(tensors, rank); });
};

}  // namespace

TEST_CASE("all_reduce, local_updates: a wrong option -> bind refuses it by name") {
    testing::wrong_options tries({{"all_reduce.bucket_bytes", "0 max"},
                                  {"sgd.learning_rate", "0"},
                                  {"sgd.weight_decay", "0"},
                                  {"sgd.decay_momentum", "-1 0"},
                                  {"momentum_sgd.learning_rate", "0"},
                                  {"momentum_sgd.momentum", "0"},
                                  {"momentum_sgd.weight_decay", "0"},
                                  {"collectives::hierarchical.ranks_per_host", "max"},
                                  {"collectives::sparse_reduce_scatter.kept", ""},
                                  {"local_updates.every", "max"},
                                  {"local_updates.from_epoch", "0"},
                                  {"noloco.momentum", "0"},
                                  {"noloco.rate", "0"},
                                  {"noloco.pull", "0"}});
    tries.of(all_reduce<>{}, on_two_ranks);
    tries.of(all_reduce<sgd, dgc, collectives::sparse_reduce_scatter>{}, on_two_ranks);
    tries.of(all_reduce<sgd, none, collectives::hierarchical>{}, on_two_ranks);
    tries.of(local_updates<>{}, on_two_ranks);
    tries.of(local_updates<sgd, noloco>{}, on_two_ranks);
    CHECK(tries.left_out().empty());
}

TEST_CASE("parameter_server: a wrong option -> bind refuses it by name") {
    testing::wrong_options tries({{"serving.servers", ""},
                                  {"serving.patience", "0"},
                                  {"serving.every", "max"},
                                  {"sgd.learning_rate", "0"},
                                  {"sgd.weight_decay", "0"},
                                  {"sgd.decay_momentum", "-1 0"}});
    tries.of(parameter_server<>{}, on_two_ranks);
    CHECK(tries.left_out().empty());
}

TEST_CASE("gossip: a wrong option -> bind refuses it by name") {
    testing::wrong_options tries({{"gossip_options.measure_every", "0 max"},
                                  {"surviving.patience", ""},
                                  {"sgd.learning_rate", "0"},
                                  {"sgd.weight_decay", "0"},
                                  {"sgd.decay_momentum", "-1 0"}});
    tries.of(gossip{sgd{}, topologies::ring{}}, on_two_ranks);
    const gossip lasting{sgd{},  topologies::ring{},           no_control{},
                         none{}, mixing::adapt_then_combine{}, surviving{}};
    tries.of(lasting, [](const auto& strategy) {
        const layout tensors = testing::small_layout();
        run_simulated(2, {}, [&](simulated& rank) {
            (void)strategy.bind(tensors, rank);
        }).require_success();
    });
    CHECK(tries.left_out().empty());
}

TEST_CASE("codistillation: a wrong option -> bind refuses it by name") {
    testing::wrong_options tries({{"codistillation_groups.count", ""},
                                  {"codistillation_groups.every", "max"},
                                  {"codistillation_groups.burn_in", "0 max"},
                                  {"codistillation_groups.common", "0"},
                                  {"codistillation_groups.only", "-1 0"},
                                  {"teacher_rules.age_max", "-1 0 max"},
                                  {"teacher_rules.margin", "0"},
                                  {"forward_kl.temperature", ""},
                                  {"constant_weight.weight", "0"},
                                  {"checkpoint_exchange.keep", "max"},
                                  {"finished_models.count", ""},
                                  {"all_reduce.bucket_bytes", "0 max"},
                                  {"sgd.learning_rate", "0"},
                                  {"sgd.weight_decay", "0"},
                                  {"sgd.decay_momentum", "-1 0"}});
    using group = all_reduce<sgd>;
    tries.of(codistillation{group{}, forward_kl{}, transport_exchange<>{}}, on_two_ranks);
    tries.of(codistillation{group{}, forward_kl{}, checkpoint_exchange{.folder = "x"}},
             on_two_ranks);
    tries.option<int>("codistillation_groups.only", [](int value) {
        on_two_ranks(codistillation{
            group{}, forward_kl{}, checkpoint_exchange{.folder = "x"}, {.only = value}});
    });
    tries.option<int>("finished_models.count", [](int value) {
        on_two_ranks(codistillation{
            group{}, forward_kl{}, finished_models{.folder = "x", .count = value}, {.count = 1}});
    });
    CHECK(tries.left_out().empty());
}
