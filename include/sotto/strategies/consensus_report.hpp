#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace sotto::detail {

/// How far ranks that mix with neighbours are apart, as one of them sees it in a step. What was not
/// measured is not a number; what is told by tensor is valid until the next round.
struct consensus_report {
    /// In place of what was not measured.
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

    std::int64_t rounds = -1;  // of mixing; -1: no rank mixes with neighbours
    double change = unknown;   // by how much mixing moved this rank's parameters: the norm, of
                               // the last round
    double estimate =
        unknown;  // Theta of the last round, over all ranks, see consensus_reading::measure;
                  // unknown where that was their exact mean, or nobody had any part
    double distance = unknown;   // Xi, exact, over all ranks: of what was mixed, after the last
                                 // round. By combine_then_adapt ranks then still take their steps,
                                 // which carry them further apart
    double target = unknown;     // by which this rank's controller decided after the last round, or
                                 // would have where another rank's decides for all
    bool missed = false;         // that controller had no more rounds to give, though what it was
                                 // told of the last one is above its target
    double critical = unknown;   // the critical distance, estimated
    double learning_rate = 0.0;  // 0 where the optimizer does not tell it
    double gradient_norm = unknown;               // root of the mean over ranks of squares
    std::span<const double> squared_changes{};    // of `change`, by tensor
    std::span<const double> squared_distances{};  // of `distance`, by tensor: they add up to it
};

}  // namespace sotto::detail
