#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/logging/detail/rank_timeline.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "sotto/logging/run_log.hpp"
#include "sotto/report/detail/sections/report_costs.hpp"
#include "sotto/report/detail/sections/report_overlap.hpp"

namespace sotto::detail::reporting {

/// Timeline of computing, waiting and sending: a row for each rank, over a time in which all of
/// them worked.
///   cost    O(steps); at most 32 rows of some hundred spans
class timeline_chart {
public:
    static constexpr std::size_t rows_max = 32;  // most rows of the drawing

    /// For all ranks whose steps the run has.
    explicit timeline_chart(const run_log& run);

    /// True if no time exists in which all worked, so there is nothing to draw.
    bool empty() const noexcept { return !(length_ > 0.0); }
    /// Number of ranks without a row.
    std::size_t left_out() const noexcept { return left_out_; }
    /// Seconds in the drawing.
    double length() const noexcept { return length_; }

    /// Returns the drawing; `describes` is its text for screen readers.
    std::string svg(std::string_view describes) const;

private:
    static constexpr double width = 860.0, top = 8.0, row_height = 19.0, bar_height = 13.0,
                            left = 180.0, right = width - 14.0;

    struct row {
        const rank_timeline* of;
        double origin = 0.0;  // time drawn at 0
    };

    void add(const rank_timeline& of);

    /// Returns where the drawing may begin in a row: after `steps` of its steps, or after half of
    /// them if it has fewer than twice as many.
    static double begin_after(const row& r, std::size_t steps);

    struct stretch {
        double begin, end;
    };
    /// Returns the stretch in which all work, without their first `steps` steps.
    stretch together_after(std::size_t steps) const;

    /// Returns until when all activities are known. A row with steps_max steps continues beyond its
    /// data. A row with fewer has ended, or its rank has.
    double known_until() const;

    /// Sets the stretch to draw. It begins when all ranks work, after the first steps of each,
    /// which are a start-up. Its length is at most 24 steps of the fastest rank or 4 of the
    /// slowest, whichever is longer. If clocks have no common time, they are of different machines:
    /// each row then has its own origin.
    void align();

    /// Returns spans for `visible`; the colour is the index of the part.
    std::vector<drawn_span> spans_of(const row& r) const;

    void draw(const row& r, double y, auto px, std::string& out) const {
        out += "<text class=\"h\" x=\"" + at(left - 96.0) + "\" y=\"" + at(y + 10.5) +
               "\" text-anchor=\"end\">rank " + std::to_string(r.of->rank) +
               "</text><text class=\"t\" x=\"" + at(left - 8.0) + "\" y=\"" + at(y + 10.5) +
               "\" text-anchor=\"end\">waited " + percent(r.of->waiting_share(), 0) + "</text>";
        for (const drawn_span& s : spans_of(r)) {
            const double x = px(s.begin);
            // The colours of step_times by their name in the page: f4 is the fill c4.
            const std::string colour = std::string("c") + (parts_of_step[s.colour].colour + 1);
            out += "<rect class=\"" + colour + "\" x=\"" + at(x) + "\" y=\"" + at(y) +
                   "\" width=\"" + at((std::max)(px(s.end) - x, 0.3)) + "\" height=\"" +
                   at(bar_height) + "\"><title>" + escaped(s.says, 80) +
                   (s.says == several_spans ? ": " + seconds(s.end - s.begin) : std::string()) +
                   "</title></rect>";
        }
        for (const timed_step& s : r.of->steps) {
            const double when = s.sent() - r.origin;
            if (when > length_) break;
            if (when < 0.0 || !(s.bytes_sent > 0.0)) continue;
            out += "<path class=\"sent\" d=\"M" + at(px(when)) + " " + at(y - 1.5) + "V" +
                   at(y + bar_height + 1.5) + "\"><title>sent " + bytes(s.bytes_sent) +
                   "</title></path>";
        }
    }

    std::vector<row> rows_;
    std::size_t left_out_ = 0;
    double length_ = 0.0;
};

/// Returns the shares of time that the rank with the most and the rank with the least waiting
/// waited.
std::string told_waiting(const run_log& run);

/// Timelines of runs with logs of several ranks, or with servers; empty without any.
std::string timeline_section(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_timeline.ipp"
#endif
