#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/strategies/detail/codistillation/meeting_place.hpp"
#include "sotto/strategies/model_groups.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// What an exchange of models becomes on the one rank that speaks for its group.
template <class E>
using exchange_state =
    decltype(std::declval<const E&>().bind(std::declval<const detail::meeting_place&>()));

}  // namespace sotto

namespace sotto::detail {

/// How groups come to know the models of others. Options have bind(meeting_place) -> state:
///   publish(kind, facts, parameters, buffers, students)
///                                   for groups that are taught by it now; never waits for them
///   look(kind, group, after) -> std::optional<published_model>
///                                   the newest of a group, if it is here and another one than that
///                                   of step `after`; never waits
///   problem() -> std::string        why nothing was published lately; empty
/// and may have
///   begin(buffers)                  called by every `fit` first; how many values the model has
///                                   besides parameters
///   open(step)                      called once, when the first round begins, on the rank that
///                                   publishes: steps that its model has been trained for by then.
///                                   It may throw what ends training
///   ready(kind, group, after) -> bool
///                                   whether `look` with the same can answer now; if not, it has
///                                   begun to fetch what that will find, and is asked again in the
///                                   next round. Yes, always
///   listen(kind)                    called in every round, to take in what has come
///   bytes_sent() -> std::int64_t    of models to students, since it was bound; 0
///   skipped() -> std::int64_t       models that were not published, for the one before was still
///                                   under way, likewise
///   finish(on_news)                 called by every `fit` last, where it waits for other groups:
///                                   calls on_news() whenever something comes of one
/// Options may have more:
///   teachers(groups) -> std::vector<int>
///                                   whose models a group learns from, in every interval; those of
///                                   its lesson_plan
///   static constexpr bool finished  teachers are there before training begins and stay as they
///                                   are: they are looked for before the first step that is taught,
///                                   not an interval later
///   errors  look: mismatch, what is there is no such model; io_failure or malformed, it cannot be
///           read
template <class E>
concept teacher_exchange = std::copy_constructible<E> &&
    requires(exchange_state<E>& state, const detail::checkpoint::architecture& kind,
             const detail::checkpoint::published_facts& facts, std::span<const float> values,
             int group, std::int64_t after, std::span<const int> students) {
    state.publish(kind, facts, values, values, students);
    {
        state.look(kind, group, after)
        } -> std::same_as<std::optional<detail::checkpoint::published_model>>;
    { state.problem() } -> std::convertible_to<std::string>;
};

/// Groups tell each other in every round what their models say, and no models: see
/// prediction_exchange, which is one.
template <class E>
concept exchanges_predictions = requires {
    requires E::of_predictions;
};

/// Every rank of a group may have a state of its own that looks, not only the one which publishes:
/// `static constexpr bool by_each_rank = true` in the options.
template <class E>
concept exchanges_by_each_rank = requires {
    requires E::by_each_rank;
};

}  // namespace sotto::detail

/// The members that an exchange may leave out.
namespace sotto::detail::exchanging {

template <class State>
void begin(State& state, std::size_t buffers) {
    if constexpr (requires { state.begin(buffers); }) state.begin(buffers);
}

template <class State>
void open(State& state, std::int64_t step) {
    if constexpr (requires { state.open(step); }) state.open(step);
}

template <class State>
bool is_ready(State& state, const checkpoint::architecture& kind, int group, std::int64_t after) {
    if constexpr (requires { state.ready(kind, group, after); })
        return state.ready(kind, group, after);
    else
        return true;
}

template <class State>
void listen(State& state, const checkpoint::architecture& kind) {
    if constexpr (requires { state.listen(kind); }) state.listen(kind);
}

template <class State>
std::int64_t bytes_sent(const State& state) {
    if constexpr (requires { state.bytes_sent(); })
        return state.bytes_sent();
    else
        return 0;
}

template <class State>
std::int64_t skipped(const State& state) {
    if constexpr (requires { state.skipped(); })
        return state.skipped();
    else
        return 0;
}

/// Whose models a group learns from, in some interval or in this one.
template <class Exchange>
std::vector<int> teachers(const Exchange& exchange, model_groups groups, const lesson_plan& plan,
                          std::optional<std::int64_t> interval = std::nullopt) {
    if constexpr (requires { exchange.teachers(groups); })
        return exchange.teachers(groups);
    else
        return interval ? plan.teachers(*interval) : plan.teachers();
}

/// Teachers are there before training begins.
template <class Exchange>
inline constexpr bool teachers_have_finished = requires {
    requires Exchange::finished;
};

/// `fit` ends for all groups together.
template <class State>
inline constexpr bool waits_at_end = requires(State& state) {
    state.finish([] {});
};

}  // namespace sotto::detail::exchanging
