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

/// In place of what is not known.
inline constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// What a curve is drawn against.
///   steps  the number of the step
///   time   seconds since the run began
///   sent   bytes that a worker has sent
enum class against { steps, time, sent };

/// Where something lies along that.
template <class Where>
double along(against what, const Where& w) noexcept {
    if (what == against::time) return w.seconds;
    if (what == against::sent) return w.bytes_sent;
    if constexpr (requires { w.last_step; })
        return static_cast<double>(w.last_step);
    else
        return static_cast<double>(w.step);
}

/// The axis for all of these runs.
axis axis_along(against what, std::span<const run_log> runs);

/// What is written at the axis.
const char* name_of(against what, std::span<const run_log> runs) noexcept;

/// Linear from a round number to a round number; logarithmic where values lie further apart than a
/// linear axis can show.
axis axis_of(const std::vector<double>& values, bool share);

/// A measure after every epoch, nothing where it was not taken; before it, if it is one of steps,
/// after every step.
struct measure {
    std::string title;  // for people
    /// Its value.
    std::optional<double> (*of_epoch)(const run_log::finished_epoch&);
    bool of_steps;                                  // else of epochs alone
    bool share;                                     // whether it is a share, from 0 to 1
    over_ranks own_evaluations::*of_own = nullptr;  // the same of ranks' own models
};

/// Of ranks' own models, where they were measured.
std::optional<double> of_own(const measure& what, const run_log::finished_epoch& e,
                             double over_ranks::*which);

/// What of a measure's values the axis has to show.
std::vector<double> values_of(std::span<const run_log> runs, const measure& what);

/// The last dot of what was drawn, and whether the run went on from there to what cannot be drawn.
struct drawn_end {
    std::optional<dot> last{};  // nothing where none was drawn
    bool runs_away = false;     // whether it did
};

/// One run's curve, broken where it would go back, as where steps were done again, and where a
/// value is not finite.
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

/// Which steps' losses an axis leaves out: they are drawn at its edge. Nothing where it shows all.
std::string left_out(std::span<const run_log> runs, const axis& y);

/// One chart of a measure, of all runs.
std::string drawn(std::span<const run_log> runs, const measure& what, against x);

/// Loss and accuracy against steps, seconds and bytes. Faint beside what the mean of all ranks has
/// on unseen data: the least and the most of what their own models have.
std::string curves(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_curves.ipp"
#endif
