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

/// Who computed, waited and sent: a row a rank over a time in which all of them were at work.
///   cost    O(steps); at most 32 rows of some hundred spans
class timeline_chart {
public:
    static constexpr std::size_t rows_max = 32;  // of the drawing, at most

    /// Of all ranks whose steps the run has.
    explicit timeline_chart(const run_log& run);

    /// Whether there is no time in which all were at work, and so nothing to be drawn.
    bool empty() const noexcept { return !(length_ > 0.0); }
    /// Ranks that have no row.
    std::size_t left_out() const noexcept { return left_out_; }
    /// Seconds that are drawn.
    double length() const noexcept { return length_; }

    /// The drawing; `describes` says what it is in words.
    std::string svg(std::string_view describes) const;

private:
    static constexpr double width = 860.0, top = 8.0, row_height = 19.0, bar_height = 13.0,
                            left = 180.0, right = width - 14.0;

    struct row {
        const rank_timeline* of;
        double origin = 0.0;  // what is drawn at 0
    };

    void add(const rank_timeline& of);

    /// Where in a row the drawing may begin after so many of its steps, or of fewer if it has not
    /// twice as many.
    static double begin_after(const row& r, std::size_t steps);

    struct stretch {
        double begin, end;
    };
    /// In which all are at work, the first of them gone by.
    stretch together_after(std::size_t steps) const;

    /// Until when it is known what all do: a row that holds all that it can goes on unseen, one
    /// that does not has ended, or its rank has.
    double known_until() const;

    /// From when all were at work, the first steps past, which are of starting up, and no longer
    /// than the fastest takes for some rounds and the slowest for a few. Clocks that have no time
    /// in common are of different machines: then each rank's time is since its own.
    void align();

    /// A span as `visible` takes it: the colour is the number of its part.
    std::vector<drawn_span> spans_of(const row& r) const;

    void draw(const row& r, double y, auto px, std::string& out) const {
        out += "<text class=\"h\" x=\"" + at(left - 96.0) + "\" y=\"" + at(y + 10.5) +
               "\" text-anchor=\"end\">rank " + std::to_string(r.of->rank) +
               "</text><text class=\"t\" x=\"" + at(left - 8.0) + "\" y=\"" + at(y + 10.5) +
               "\" text-anchor=\"end\">waited " + percent(r.of->waiting_share(), 0) + "</text>";
        for (const drawn_span& s : spans_of(r)) {
            const double x = px(s.begin);
            // The colours of step_times, by their name in the page: f4 is the fill c4.
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

/// What the rank that waited most spent waiting of its steps' time, and the one that waited least.
std::string told_waiting(const run_log& run);

/// Runs of which several ranks' logs are known, or that have servers; nothing where none is.
std::string timeline_section(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_timeline.ipp"
#endif
