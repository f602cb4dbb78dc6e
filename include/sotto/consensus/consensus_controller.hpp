#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "sotto/core/round_info.hpp"

namespace sotto {

/// How it is measured how far ranks are apart.
///   nothing   not at all
///   estimate  Theta = sqrt(1/n sum of ||sum over j of w_ij x_j - x_i||^2), which a round of mixing
///             computes anyway; one number is summed over the ranks. It is of the parameters before
///             that round, and Xi <= Theta / (1 - lambda), Theta <= 2 Xi
///   exact     Xi = sqrt(1/n sum of ||x_i - mean||^2), after the round; takes an all-reduce of the
///             parameters, so that it is for studies
enum class consensus_measure : std::uint8_t { nothing, estimate, exact };

constexpr std::string_view name_of(consensus_measure measure) noexcept {
    constexpr std::string_view names[] = {"nothing", "estimate", "exact"};
    return names[static_cast<std::size_t>(measure)];
}

/// What is known when a round of mixing was done, the same on all ranks.
struct consensus_reading {
    round_info where{};                  // of the step
    double learning_rate = 0.0;          // 0 where the optimizer does not tell it
    double gradient_norm = 0.0;          // root of the mean over ranks of ||g_i||^2
    int rounds = 0;                      // of mixing, in this step
    double distance = 0.0;               // as the controller wants it measured
    double second_singular_value = 0.0;  // of a round; not a number where that is not known
};

/// How many rounds of mixing a step gets. All ranks ask alike and are told the same, so that they
/// do the same. Options have `bind()`; the state has
///   needs(where) -> consensus_measure  what it is to be told of in a step; where that can be
///                                      exact, the options say `static constexpr bool
///                                      measures_exactly`
///   wants_another(reading) -> bool     whether another round is to be done, after at least one
/// and may have, with the default for those that do not,
///   wants_one(where) -> bool           whether a step is to have any; yes. It may be asked a step
///                                      ahead, and again then
///   target(reading) -> double          the distance that it keeps below, for reports; not a number
///   visit(field)                       field(name, value) for all that it remembers from step to
///                                      step, to be saved; nothing
template <class C>
concept consensus_controller = requires(const C& options) {
    options.bind();
}
&&requires(decltype(std::declval<const C&>().bind())& state, const consensus_reading& now) {
    { state.needs(now.where) } -> std::same_as<consensus_measure>;
    { state.wants_another(now) } -> std::same_as<bool>;
};

template <class C>
using controller_state = decltype(std::declval<const C&>().bind());

namespace controlling {

template <class C>
concept measures_exactly = requires {
    requires C::measures_exactly;
};

template <class State>
bool wants_one(State& state, const round_info& where) {
    if constexpr (requires { state.wants_one(where); })
        return state.wants_one(where);
    else
        return true;
}

template <class State, class Field>
void visit(State& state, Field&& field) {
    if constexpr (requires { state.visit(field); }) state.visit(field);
}

template <class State>
double target(const State& state, const consensus_reading& now) {
    if constexpr (requires { state.target(now); })
        return state.target(now);
    else
        return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace controlling

namespace detail {

/// Rounds after which mixing alone has brought a distance down to a target: a bound on those that a
/// controller asks for, should what it measures not shrink.
///   math    ceil(ln(distance / target) / -ln(lambda)), and one for each other cause to go on
inline int rounds_to_reach(double distance, double target, double second_singular_value,
                           int most) noexcept {
    if (!(distance > target)) return 1;
    if (!(target > 0.0) || !(second_singular_value < 1.0)) return most;
    if (!(second_singular_value > 0.0)) return 1;
    const double rounds = std::log(distance / target) / -std::log(second_singular_value);
    return static_cast<int>(std::clamp(std::ceil(rounds), 1.0, static_cast<double>(most)));
}

/// Goes on until a distance is below its target, or rounds that should have sufficed are done.
class round_limit {
public:
    explicit round_limit(int most) noexcept : most_(most) {}

    bool wants_another(const consensus_reading& now, double target) noexcept {
        if (now.rounds <= 1)
            allowed_ = 1 + rounds_to_reach(now.distance, target, now.second_singular_value, most_);
        return now.distance > target && now.rounds < std::min(allowed_, most_);
    }

private:
    int most_;
    int allowed_ = 1;
};

}  // namespace detail

}  // namespace sotto
