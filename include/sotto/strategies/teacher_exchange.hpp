#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/checkpoint/published_model.hpp"

namespace sotto {

/// Models that are trained side by side.
struct model_groups {
    int own = 0;    // which of them is trained here
    int count = 1;  // of all
};

/// How groups come to know the models of others. Options have bind(groups) -> state, for the one
/// rank of a group that publishes and looks:
///   publish(kind, facts, parameters, buffers)     for the others; never waits for them
///   look(kind, group, after) -> std::optional<published_model>
///                                                 the newest of a group that is newer than step
///                                                 `after`, if it is here; never waits
///   problem() -> std::string                      why nothing was published lately; empty
///   errors  look: mismatch, what is there is no such model; io_failure, it cannot be read
///
/// Options may have more:
///   teachers(groups) -> std::vector<int>     whose models a group learns from; all others
///   static constexpr bool finished           teachers are there before training begins and stay as
///                                            they are: they are looked for before the first step
///                                            that is taught, not an interval later
template <class E>
concept teacher_exchange = std::copy_constructible<E> &&
    requires(const E& options, model_groups groups,
             decltype(std::declval<const E&>().bind(model_groups{}))& state,
             const checkpoint::architecture& kind, const checkpoint::published_facts& facts,
             std::span<const float> values, int group, std::int64_t after) {
    options.bind(groups);
    state.publish(kind, facts, values, values);
    { state.look(kind, group, after) } -> std::same_as<std::optional<checkpoint::published_model>>;
    { state.problem() } -> std::convertible_to<std::string>;
};

namespace detail {

/// Whose models a group learns from.
template <class Exchange>
std::vector<int> teachers_of(const Exchange& exchange, model_groups groups) {
    if constexpr (requires { exchange.teachers(groups); }) {
        return exchange.teachers(groups);
    } else {
        std::vector<int> others;
        for (int group = 0; group < groups.count; ++group)
            if (group != groups.own) others.push_back(group);
        return others;
    }
}

/// Teachers are there before training begins.
template <class Exchange>
inline constexpr bool has_finished_teachers = [] {
    if constexpr (requires { Exchange::finished; })
        return static_cast<bool>(Exchange::finished);
    else
        return false;
}();

}  // namespace detail

}  // namespace sotto
