#pragma once

#include <concepts>
#include <cstdint>

#include "sotto/core/clock.hpp"

namespace sotto {

/// How far apart workers may drift: what a server does with a gradient that came, and when its
/// worker may go on. Options have `bind(workers)`; the state has
///   attach(worker)          a worker that was not there begins, at the clock of the slowest
///   detach(worker)          it is there no more: nobody waits for it
///   excuse(worker)          one that has begun has given its gradient of this round elsewhere, and
///                           may push its next one only after somebody's that is still due: nobody
///                           waits for it in this round
///   pushed(worker, now)     its gradient came: its clock, the number of its rounds, grows by one
///   may_go(worker, now) -> bool     whether it may have the parameters and begin its next round.
///                           Others' pushes, and that they leave, make it true; time alone does not
///   collects() -> bool      whether the gradients of a round are kept until the round is complete,
///                           and make one step; else each makes one as it comes
///   round_complete() -> bool    where it collects: whether there are enough of them
///   end_round()             they were applied; who has pushed may go on
///   is_late(worker) -> bool where it collects: whether the round that the worker's next gradient
///                           belongs to has ended without it
///   weight() -> double      by what a gradient counts, or a mean of those that were collected
template <class C>
concept consistency = requires(const C& options, int workers) {
    options.bind(workers);
}
&&requires(decltype(std::declval<const C&>().bind(1))& state,
           const decltype(std::declval<const C&>().bind(1))& fixed, int worker, time_point now) {
    state.attach(worker);
    state.detach(worker);
    state.excuse(worker);
    state.pushed(worker, now);
    { state.may_go(worker, now) } -> std::same_as<bool>;
    { fixed.collects() } -> std::same_as<bool>;
    { fixed.round_complete() } -> std::same_as<bool>;
    state.end_round();
    { fixed.is_late(worker) } -> std::same_as<bool>;
    { fixed.weight() } -> std::same_as<double>;
};

template <class C>
using consistency_state = decltype(std::declval<const C&>().bind(1));

/// All gradients of a round are of the same parameters.
template <class C>
concept bulk_consistency = consistency<C> && requires {
    requires C::in_rounds;
};

}  // namespace sotto
