#pragma once

#include <cstdint>
#include <string_view>

#include "sotto/compressors/chunked_top_k.hpp"
#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/mean_of_senders.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/detail/local_updates/local_updates_state.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto {

/// Each rank takes so many steps on its own data; then all meet, and another strategy takes one
/// step by how far each has come, as if that were its gradient. Everybody goes on from there.
///   math    from theta, after H steps of the optimizer at theta_i: Delta_i = theta - theta_i is
///           rank i's gradient at theta to the outer strategy. By all_reduce{sgd{.learning_rate =
///           1}} that is the mean of all, local SGD; by Nesterov momentum DiLoCo; by
///           sparse_loco() SparseLoCo; by noloco NoLoCo
///   shape   between meetings each rank holds parameters of its own; an evaluation is of their
///           mean. The optimizer's memory stays a rank's own. All ranks count alike in a meeting,
///           however many examples each has: see all_reduce for gradients weighed by examples.
///           Every call of `fit` ends with a meeting, after fewer than `every` steps if need be.
///           So epochs{2} twice is epochs{4} to the last bit only if the first call does a
///           multiple of `every` steps. Callbacks of the last step run before that meeting and see
///           this rank's own parameters; callbacks of the epoch run after it
///   wire    what the outer strategy sends, every H steps
///   cost    4 bytes a parameter, and 4 and the optimizer's memory more for a meeting that fails;
///           the outer strategy's own
///   errors  as the outer strategy: a meeting that fails leaves this rank as after the step before.
///           invalid_option, when it is bound: every below 1, from_epoch below 0
///   source  Stich 2019, Local SGD, arXiv:1805.09767; Lin et al. 2020, post-local SGD,
///           arXiv:1808.07217; Douillard et al. 2023, DiLoCo, arXiv:2311.08105; Sarfi et
///           al. 2025, SparseLoCo, arXiv:2508.15706
template <class Optimizer = sgd, class Outer = all_reduce<momentum_sgd>>
struct local_updates {
    /// How often ranks that take steps of their own meet.
    struct meetings {
        static constexpr std::string_view described_as = "local_steps";

        std::int64_t every = 30;  // steps from one meeting to the next
        double from_epoch = 0.0;  // before it they meet after every step: post-local SGD

        void describe(auto&& field) const {
            field("every", every);
            field("from_epoch", from_epoch);
        }
    };

    static_assert(
        optimizer<Optimizer>,
        "local_updates: the first policy must be an optimizer: it needs bind(layout) with "
        "begin_step(step_info, gradient) and update(tensor, parameters, gradient) noexcept");
    static_assert(detail::conducting::in_step<Outer>,
                  "local_updates: the second policy must be a strategy whose ranks meet in every "
                  "round, such as all_reduce{sgd{.learning_rate = 1.0}}");

    Optimizer optimizer{};  // of each rank's own steps
    Outer outer{};          // the strategy by which all meet
    meetings local{};       // when they meet

    static constexpr bool synchronous = false;
    static constexpr bool in_step = true;

    auto bind(const layout& tensors, transport_ref through) const {
        return detail::local_updates_state<local_updates>(*this, tensors, through);
    }
    void describe(auto&& field) const {
        field("optimizer", optimizer);
        field("outer", outer);
        field("local", local);
    }
};

template <class O>
local_updates(O) -> local_updates<O>;
template <class O, class S>
local_updates(O, S) -> local_updates<O, S>;
template <class O, class S>
local_updates(O, S, typename local_updates<O, S>::meetings) -> local_updates<O, S>;

/// The outer step that DiLoCo publishes, for local_updates{adamw{...}, diloco()}.
///   source  Douillard et al. 2023, arXiv:2311.08105: Nesterov, rate 0.7, momentum 0.9; where
///           meetings are few a momentum of 0.5 takes less time to come into its own, and is
///           better (bench/results/gossip.md)
all_reduce<momentum_sgd> diloco(double learning_rate = 0.7, double momentum = 0.9);

/// The outer step that SparseLoCo publishes, for local_updates{adamw{...}, sparse_loco()}: no
/// momentum, but error feedback in its place, which sends about 0.15 bit a parameter and meeting.
/// With 30 steps from one to the next that is some 6,000 times less than a gradient a step.
///   math    e = 0.95 e + Delta;  q = chunked_top_k of e;  e -= q;  theta -= the mean of q over
///           all ranks. A rank that did not send an entry counts as 0
///   source  Sarfi et al. 2025, SparseLoCo, arXiv:2508.15706: rate 1, 32 to 128 entries of 4,096;
///           where meetings are few a higher rate makes up for what still waits
all_reduce<sgd, error_feedback<chunked_top_k>> sparse_loco(std::int64_t kept = 64,
                                                           double learning_rate = 1.0);

/// The outer step of the code published with SparseLoCo: each entry is the mean over the ranks that
/// sent it. Ranks choose different entries, so among 4 ranks a first step is 3.85 times as long.
/// Use a lower rate than with sparse_loco().
///   cost    see mean_of_senders
all_reduce<sgd, mean_of_senders<error_feedback<chunked_top_k>>> sparse_loco_of_senders(
    std::int64_t kept = 64, double learning_rate = 1.0);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/local_updates.ipp"
#endif
