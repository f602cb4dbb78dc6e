#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/logging/detail/round_times.hpp"
#include "sotto/logging/run_log.hpp"
#include "sotto/report/detail/charts/report_axis.hpp"

namespace sotto::detail::reporting {

/// A stretch of time in a row, and its tooltip.
struct drawn_span {
    double begin = 0.0, end = 0.0;  // seconds since the round began
    std::size_t colour = 0;         // index in the palette
    std::string says{};             // tooltip for people
};

/// Tooltip of a merged span.
inline constexpr const char* several_spans = "several";

/// Merges spans that are too short to be visible with adjacent ones, in order. The result has at
/// most twice as many spans as `shortest` fits into their time. A merged span has the colour of its
/// longest part.
std::vector<drawn_span> visible(const std::vector<drawn_span>& spans, double shortest);

/// Rows of a round over time, as one SVG element: the worker's activities, and the transfers in
/// flight.
///   cost    O(tensors log tensors); at most 14 rows of some hundred spans
class round_chart {
public:
    static constexpr double width = 860.0;          // width of the drawing
    static constexpr std::size_t tensors_max = 12;  // most tensors with their own row

    /// For one round.
    round_chart(const round_times& round, const std::vector<run_tensor>& tensors);

    /// Returns the drawing; `describes` is its text for screen readers.
    std::string svg(std::string_view describes) const;

    /// The colours of step_times, and two more.
    static constexpr std::size_t colour_of(work_of_round what) noexcept {
        switch (what) {
            case work_of_round::compute: return 0;
            case work_of_round::compress: return 1;
            case work_of_round::decode: return 3;
            default: return 2;
        }
    }
    static constexpr std::size_t in_flight = 6;  // colour of transfers in flight

private:
    static constexpr double top = 20.0, row_height = 19.0, bar_height = 14.0, left = 190.0,
                            right = width - 14.0;

    struct row {
        std::string name;
        std::vector<drawn_span> spans;
        bool labelled = false;
    };

    double px(double time) const noexcept { return left + (right - left) * time_.place(time); }

    /// Merges below half a unit of the drawing, which is not visible.
    std::vector<drawn_span> seen(const std::vector<drawn_span>& spans) const;

    void add_worker(const std::vector<run_tensor>& tensors);

    /// The largest tensors in the order in which they were sent, then all others in one row.
    void add_tensors(const std::vector<run_tensor>& tensors);

    void draw(const row& r, double number, std::string& out) const;

    const round_times& round_;
    axis time_;
    std::vector<row> rows_;
};

/// Returns which share of a run's exchange was hidden.
std::string told_overlap(const run_log& run, const overlap& drawn);

/// One round of each run of several workers that logged one; empty if none did.
std::string overlap_section(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_overlap.ipp"
#endif
