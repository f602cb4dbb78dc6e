#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "sotto/core/round_info.hpp"
#include "sotto/core/visit.hpp"

namespace sotto {

/// What is known when a round of mixing was done, the same on all ranks.
struct consensus_reading {
    /// How it is measured how far ranks are apart.
    ///   nothing   not at all
    ///   estimate  Theta = sqrt(1/n sum of ||sum over j of w_ij x_j - x_i||^2), which a round of
    ///             mixing computes anyway; one number is summed over the ranks. It is of the
    ///             parameters before that round, and Xi <= Theta / (1 - lambda), Theta <= 2 Xi,
    ///             with lambda of that round's matrix. Where matrices take turns lambda of one may
    ///             be 1, and Theta 0 of ranks that are far apart: only those of a whole period say
    ///             something. A round that gives all their exact mean, or in which no rank got
    ///             anything, estimates nothing
    ///   exact     Xi = sqrt(1/n sum of ||x_i - mean||^2), after the round; takes an all-reduce of
    ///             the parameters, so that it is for studies
    enum class measure : std::uint8_t { nothing, estimate, exact };

    round_info where{};                  // of the step
    double learning_rate = 0.0;          // 0 where the optimizer does not tell it
    double gradient_norm = 0.0;          // root of the mean of ||g_i||^2 over ranks with data
    int rounds = 0;                      // of mixing, in this step
    double distance = 0.0;               // as the controller wants it measured; not a number where
                                         // that was asked for but not found
    bool is_mean = false;                // the round gave all ranks their exact mean
    double second_singular_value = 0.0;  // of a round; not a number where that is not known
    std::int64_t period = 1;  // rounds after which matrices repeat; 0: each is drawn anew
};

/// How many rounds of mixing a step gets. All ranks ask alike and are told the same, so that they
/// do the same. Options have `bind()`; the state has
///   needs(where) -> consensus_reading::measure   what it is to be told of in a step; where that
///                                      can be exact, the options say `static constexpr bool
///                                      measures_exactly = true`, and where it is never an
///                                      estimate, `estimates = false`
///   wants_another(reading) -> bool     whether another round is to be done, after at least one
/// and may have, with the default for those that do not,
///   wants_one(where, learning_rate) -> bool   whether a step is to have any; yes. It may be asked
///                                      a step ahead, and again then
///   wants_mean(where) -> bool          whether a step's rounds give all ranks their exact mean
///                                      instead, by an all-reduce; no. Where they can, the options
///                                      say `static constexpr bool takes_means = true`
///   target(reading) -> double          the distance by which it decides of this reading, for
///                                      reports: the same before and after it has; not a number
///   misses(reading) -> bool            once it wants no other round: whether the distance is not
///                                      as it wants it, for reports; whether this reading's is
///                                      above the target
///   needs_gap() -> bool                of the options: whether it can decide only where
///                                      second_singular_value is known; no. Gossip then refuses a
///                                      graph of which it is not
///   needs_rate                         of the options, `static constexpr bool needs_rate = true`:
///                                      it decides by the learning rate. Gossip then refuses an
///                                      optimizer that does not tell it; no
///   visit(field)                       field(name, value) for all that it remembers from step to
///                                      step, to be saved, and to be put back where a step fails;
///                                      nothing. A state with members but without visit trains, but
///                                      is refused where checkpoints are asked for
template <class C>
concept consensus_controller = requires(const C& options) {
    options.bind();
}
&&requires(decltype(std::declval<const C&>().bind())& state, const consensus_reading& now) {
    { state.needs(now.where) } -> std::same_as<consensus_reading::measure>;
    { state.wants_another(now) } -> std::same_as<bool>;
};

/// The state that options become.
template <class C>
using controller_state = decltype(std::declval<const C&>().bind());

}  // namespace sotto

/// The members that a controller may leave out.
namespace sotto::detail::controlling {

/// Whether a is above b; not where one of them is no number.
bool is_above(double a, double b) noexcept;

/// It may ask for the exact distance.
template <class C>
concept measures_exactly = requires {
    requires C::measures_exactly;
};

/// Whether it may ask for an estimate: unless it says that it does not.
template <class C>
concept estimates = !requires {
    requires !C::estimates;
};

template <class State>
bool wants_one(State& state, const round_info& where, double learning_rate) {
    static_assert(
        !requires { state.wants_one(where); },
        "consensus controller: wants_one(where, learning_rate) takes the rate as well");
    if constexpr (requires { state.wants_one(where, learning_rate); })
        return state.wants_one(where, learning_rate);
    else
        return true;
}

/// Rounds may give all ranks their exact mean.
template <class C>
concept takes_means = requires {
    requires C::takes_means;
};

template <class C>
constexpr bool needs_gap(const C& options) noexcept {
    if constexpr (requires { options.needs_gap(); })
        return options.needs_gap();
    else
        return false;
}

/// It decides by the learning rate.
template <class C>
concept needs_rate = requires {
    requires C::needs_rate;
};

template <class State>
bool wants_mean(const State& state, const round_info& where) {
    if constexpr (requires { state.wants_mean(where); })
        return state.wants_mean(where);
    else
        return false;
}

template <class State, class Field>
void visit(State& state, Field&& field) {
    if constexpr (requires { state.visit(field); }) state.visit(field);
}

/// Whether a checkpoint has all that it remembers: it shows it, or there is nothing in it.
template <class State>
concept can_be_saved = sotto::visitable<State> || std::is_empty_v<State>;

template <class State>
double target(const State& state, const consensus_reading& now) {
    if constexpr (requires { state.target(now); })
        return state.target(now);
    else
        return std::numeric_limits<double>::quiet_NaN();
}

template <class State>
bool misses(const State& state, const consensus_reading& now) {
    if constexpr (requires { state.misses(now); })
        return state.misses(now);
    else
        return is_above(now.distance, target(state, now));
}

}  // namespace sotto::detail::controlling

namespace sotto::detail {

/// Rounds after which mixing alone has brought a distance down to a target: a bound on those that a
/// controller asks for, should what it measures not shrink.
///   math    ceil(ln(distance / target) / -ln(lambda)), and one for each other cause to go on
int rounds_to_reach(double distance, double target, double second_singular_value,
                    int most) noexcept;

/// Whether something has been so of a step's last rounds, one after the other.
class rounds_in_a_row {
public:
    /// Whether it is so of the last `count`, this one among them.
    bool add(const consensus_reading& now, bool is_so, std::int64_t count) noexcept;

private:
    std::int64_t rounds_ = 0;
};

/// What an estimate may be short by: Xi <= Theta / gap, with the largest Theta of a period.
///   math    ||x - mean|| <= sum over the period's m rounds of Theta + lambda^m ||x - mean||
double gap_of(const consensus_reading& now) noexcept;

/// How many rounds an estimate must be judged by: those of a period; where each is drawn anew, one.
std::int64_t period_of(const consensus_reading& now) noexcept;

/// Goes on until a distance is at or below its target, or rounds that should have sufficed are
/// done. Estimates must be so in a whole period of rounds, the last ones of this step. After an
/// exact mean nothing is left to be done; what was not found otherwise is not near.
///   math    where n rounds are judged, up to rounds_to_reach(the largest of the first n that are
///           known) after these, as whole periods: what a part of a period does is not known. One
///           period more than n while nothing is known
class round_limit {
public:
    explicit round_limit(int most, consensus_reading::measure measured =
                                       consensus_reading::measure::estimate) noexcept
        : most_(most), is_exact_(measured == consensus_reading::measure::exact) {}

    bool wants_another(const consensus_reading& now, double target) noexcept;

    /// Whether what is known of the step is not enough to call ranks near.
    bool misses() const noexcept { return !is_near_ && known_ > 0; }

private:
    static bool is_at_most(double distance, double target) noexcept;

    std::int64_t in_periods(const consensus_reading& now, double target) const noexcept;

    int most_;
    bool is_exact_;
    double largest_ = 0.0;    // of those known that are judged
    std::int64_t known_ = 0;  // as many of them
    std::int64_t allowed_ = 1;
    bool is_near_ = true;
    rounds_in_a_row near_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/gossip/control/consensus_controller.ipp"
#endif
