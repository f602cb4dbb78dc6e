#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/logging/run_log.hpp"
#include "sotto/report/detail/charts/report_chart.hpp"

namespace sotto::detail::reporting {

/// Value that is unknown.
inline constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// Horizontal axis of a curve.
///   steps   number of the step
///   time    seconds since the run began
///   sent    bytes sent by a worker
enum class against { steps, time, sent };

/// Returns the position of a point on that axis.
template <class Where>
double along(against what, const Where& w) noexcept {
    if (what == against::time) return w.seconds;
    if (what == against::sent) return w.bytes_sent;
    if constexpr (requires { w.last_step; })
        return static_cast<double>(w.last_step);
    else
        return static_cast<double>(w.step);
}

/// Returns the axis for all of these runs.
axis axis_along(against what, std::span<const run_log> runs);

/// Returns the label of the axis.
const char* name_of(against what, std::span<const run_log> runs) noexcept;

/// Linear between round numbers; logarithmic if the values are too far apart for a linear axis.
axis axis_of(const std::vector<double>& values, bool share);

/// A measure after every epoch; empty if it was not taken. If `of_steps`, it also draws each step.
struct measure {
    std::string title;  // title for people
    /// Returns its value after an epoch.
    std::optional<double> (*of_epoch)(const run_log::finished_epoch&);
    bool of_steps;                                  // false: epochs only
    bool share;                                     // true: a share from 0 to 1
    over_ranks own_evaluations::*of_own = nullptr;  // same measure of ranks' own models
};

/// Returns the value of ranks' own models, if measured.
std::optional<double> of_own(const measure& what, const run_log::finished_epoch& e,
                             double over_ranks::*which);

/// Returns the values that the axis must show.
std::vector<double> values_of(std::span<const run_log> runs, const measure& what);

/// End of a curve.
struct drawn_end {
    std::optional<dot> last{};  // last finite point; empty without one
    bool runs_away = false;     // true: the run continued to values that are not finite
};

/// Draws one run's curve. It breaks at a repeated step, which lies to the left, and at a value that
/// is not finite.
template <class Stretches>
void draw(chart& c, const Stretches& all, std::size_t colour, chart::weight how, auto&& value,
          against x, drawn_end& end) {
    std::vector<dot> line;
    const auto flush = [&] {
        c.line(thinned(line), colour, how);
        line.clear();
    };
    for (const auto& each : all) {
        const std::optional<double> y = value(each);
        if (!y) continue;
        const dot next{along(x, each), *y};
        if (!line.empty() && next.x < line.back().x) flush();
        line.push_back(next);
        end.runs_away = !is_finite(*y);
        if (!end.runs_away) end.last = line.back();
    }
    flush();
}

/// Returns which steps' losses lie outside the axis and are drawn at its edge; empty if none.
std::string left_out(std::span<const run_log> runs, const axis& y);

/// One chart of a measure for all runs.
std::string drawn(std::span<const run_log> runs, const measure& what, against x);

/// Loss and accuracy against steps, seconds and bytes. Faint lines show the minimum and maximum of
/// the ranks' own models on unseen data, next to the mean of all ranks.
std::string curves(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_curves.ipp"
#endif
