#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "sotto/core/clock.hpp"

namespace sotto {

/// How far apart workers may drift: what a server does with a gradient that came, and when its
/// worker may go on. A worker counts its gradients; this clock is the same at all servers, and who
/// waits anywhere waits only for workers of lower clocks: so no two wait for each other. Options
/// have `bind(workers)`; the state has
///   start(worker) -> clock  where one that begins stands: with the slowest, or in the last round
///   attach(worker, clock)   it is there, and that was its last gradient: it may be waited for
///   overlook(worker)        nobody waits for it before its next gradient
///   detach(worker)          it is there no more: nobody waits for it
///   finish(worker)          it has done all its rounds, and leaves; optional, default detach
///   pushed(worker, clock, now)      its gradient of this clock came, which is above the one before
///   may_go(worker, now) -> bool     whether it may have the parameters and begin its next round.
///                           Others' pushes, and that they leave, make it true; time alone does not
///   clock(worker) -> clock  what its clock is at least when it goes on: who was left behind by
///                           more than can be catches up
///   collects() -> bool      whether the gradients of a round are kept until the round is complete,
///                           and make one step; else each makes one as it comes
///   round_complete() -> bool    where it collects: whether there are enough of them
///   in_round(worker) -> bool    whether a gradient of it is among them
///   end_round()             they were applied; who has given one may go on
///   is_late(clock) -> bool  where it collects: whether the round that a gradient of this clock
///                           belongs to has ended without it, which drops it
///   weight() -> double      by what a gradient counts, or a mean of those that were collected
template <class C>
concept consistency = requires(const C& options, int workers) {
    options.bind(workers);
}
&&requires(decltype(std::declval<const C&>().bind(1))& state,
           const decltype(std::declval<const C&>().bind(1))& fixed, int worker, std::int64_t clock,
           time_point now) {
    { fixed.start(worker) } -> std::convertible_to<std::int64_t>;
    state.attach(worker, clock);
    state.overlook(worker);
    state.detach(worker);
    state.pushed(worker, clock, now);
    { state.may_go(worker, now) } -> std::same_as<bool>;
    { fixed.clock(worker) } -> std::convertible_to<std::int64_t>;
    { fixed.collects() } -> std::same_as<bool>;
    { fixed.round_complete() } -> std::same_as<bool>;
    { fixed.in_round(worker) } -> std::same_as<bool>;
    state.end_round();
    { fixed.is_late(clock) } -> std::same_as<bool>;
    { fixed.weight() } -> std::same_as<double>;
};

/// The state that options become.
template <class C>
using consistency_state = decltype(std::declval<const C&>().bind(1));

}  // namespace sotto

namespace sotto::detail {

/// All gradients of a round are of the same parameters.
template <class C>
concept bulk_consistency = consistency<C> && requires {
    requires C::in_rounds;
};

}  // namespace sotto::detail
