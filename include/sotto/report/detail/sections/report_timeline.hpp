#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/detail/memory/sort_stably.hpp"
#include "sotto/logging/detail/rank_timeline.hpp"
#include "sotto/report/detail/charts/report_axis.hpp"
#include "sotto/report/detail/charts/report_chart.hpp"
#include "sotto/report/detail/sections/report_costs.hpp"
#include "sotto/report/detail/sections/report_overlap.hpp"
#include "sotto/report/detail/sections/report_summary.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "sotto/logging/run_log.hpp"

namespace sotto::detail::reporting {

/// Who computed, waited and sent: a row a rank over a time in which all of them were at work.
///   cost    O(steps); at most 32 rows of some hundred spans
class timeline_chart {
public:
    static constexpr std::size_t rows_max = 32;  // of the drawing, at most

    /// Of all ranks whose steps the run has.
    explicit timeline_chart(const run_log& run) {
        add(run.timeline);
        for (const rank_timeline& other : run.others) add(other);
        sotto::detail::sort_stably(
            rows_, [](const row& a, const row& b) { return a.of->rank < b.of->rank; });
        left_out_ = rows_.size() - (std::min)(rows_.size(), rows_max);
        rows_.resize(rows_.size() - left_out_);
        align();
    }

    /// Whether there is no time in which all were at work, and so nothing to be drawn.
    bool empty() const noexcept { return !(length_ > 0.0); }
    /// Ranks that have no row.
    std::size_t left_out() const noexcept { return left_out_; }
    /// Seconds that are drawn.
    double length() const noexcept { return length_; }

    /// The drawing; `describes` says what it is in words.
    std::string svg(std::string_view describes) const {
        const axis time = axis_from_zero(length_, seconds);
        const double bottom = top + row_height * static_cast<double>(rows_.size());
        const auto px = [&](double at) { return left + (right - left) * time.place(at); };
        std::string out = "<svg class=\"wide\" viewBox=\"0 0 " + at(width) + " " +
                          at(bottom + 20.0) + "\" role=\"img\" aria-label=\"" + escaped(describes) +
                          "\">";
        for (const double tick : time.ticks)
            out += "<path class=\"g\" d=\"M" + at(px(tick)) + " " + at(top) + "V" + at(bottom) +
                   "\"/><text class=\"t\" x=\"" + at(px(tick)) + "\" y=\"" + at(bottom + 15.0) +
                   "\" text-anchor=\"middle\">" + escaped(time.label(tick)) + "</text>";
        for (std::size_t r = 0; r < rows_.size(); ++r)
            draw(rows_[r], top + row_height * static_cast<double>(r) + 2.5, px, out);
        return out + "</svg>";
    }

private:
    static constexpr double width = 860.0, top = 8.0, row_height = 19.0, bar_height = 13.0,
                            left = 180.0, right = width - 14.0;

    struct row {
        const rank_timeline* of;
        double origin = 0.0;  // what is drawn at 0
    };

    void add(const rank_timeline& of) {
        if (!of.steps.empty()) rows_.push_back({&of, of.steps.front().began});
    }

    /// Where in a row the drawing may begin after so many of its steps, or of fewer if it has not
    /// twice as many.
    static double begin_after(const row& r, std::size_t steps) {
        return r.of->steps[(std::min)(steps, (r.of->steps.size() - 1) / 2)].began;
    }

    struct stretch {
        double begin, end;
    };
    /// In which all are at work, the first of them gone by.
    stretch together_after(std::size_t steps) const {
        stretch found{std::numeric_limits<double>::lowest(), (std::numeric_limits<double>::max)()};
        for (const row& r : rows_) {
            found.begin = (std::max)(found.begin, begin_after(r, steps));
            found.end = (std::min)(found.end, r.of->steps.back().ended());
        }
        return found;
    }

    /// Until when it is known what all do: a row that holds all that it can goes on unseen, one
    /// that does not has ended, or its rank has.
    double known_until() const {
        double first = (std::numeric_limits<double>::max)(), last = 0.0;
        for (const row& r : rows_) {
            const double ended = r.of->steps.back().ended() - r.origin;
            last = (std::max)(last, ended);
            if (r.of->steps.size() == rank_timeline::steps_max) first = (std::min)(first, ended);
        }
        return (std::min)(first, last);
    }

    /// From when all were at work, the first steps past, which are of starting up, and no longer
    /// than the fastest takes for some rounds and the slowest for a few. Clocks that have no time
    /// in common are of different machines: then each rank's time is since its own.
    void align() {
        if (rows_.empty()) return;
        double fastest = (std::numeric_limits<double>::max)(), slowest = 0.0;
        for (const row& r : rows_) {
            const auto& steps = r.of->steps;
            const double each =
                (steps.back().ended() - steps.front().began) / static_cast<double>(steps.size());
            fastest = (std::min)(fastest, each);
            slowest = (std::max)(slowest, each);
        }
        const double wanted = (std::max)(24.0 * fastest, 4.0 * slowest);
        constexpr std::size_t leading = 3;
        double origin = 0.0;
        if (std::all_of(rows_.begin(), rows_.end(), [](const row& r) { return r.of->by_clock; }))
            for (std::size_t steps = leading + 1; steps-- > 0 && length_ < wanted;) {
                const auto [begin, end] = together_after(steps);
                const double length = (std::min)(known_until() - begin, wanted);
                if (begin < end && length > length_) length_ = length, origin = begin;
            }
        const bool in_common = length_ > 0.0;
        for (row& r : rows_) r.origin = in_common ? origin : begin_after(r, leading);
        if (!in_common) length_ = (std::min)(known_until(), wanted);
        if (!is_finite(length_)) length_ = 0.0;
    }

    /// A span as `visible` takes it: the colour is the number of its part.
    std::vector<drawn_span> spans_of(const row& r) const {
        std::vector<drawn_span> spans;
        for (const timed_step& s : r.of->steps) {
            double now = s.began - r.origin;
            if (now > length_) break;
            std::size_t number = 0;
            for (const part_of_time& part : s.parts()) {
                const double begin = (std::max)(now, 0.0),
                             end = (std::min)(now + part.seconds, length_);
                now += part.seconds;
                if (end > begin)
                    spans.push_back({begin, end, number,
                                     std::string(part.name) + " of step " +
                                         std::to_string(s.number) + ": " + seconds(part.seconds)});
                ++number;
            }
        }
        return visible(spans, 0.5 * length_ / (right - left));
    }

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
inline std::string told_waiting(const run_log& run) {
    std::vector<const rank_timeline*> ranks{&run.timeline};
    for (const rank_timeline& other : run.others) ranks.push_back(&other);
    std::erase_if(ranks, [](const rank_timeline* r) { return r->steps.empty(); });
    if (ranks.empty()) return {};
    const auto by_share = [](const rank_timeline* a, const rank_timeline* b) {
        return a->waiting_share() < b->waiting_share();
    };
    const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end(), by_share);
    const auto share = [](const rank_timeline* r) { return percent(r->waiting_share(), 0); };
    const auto rank = [](const rank_timeline* r) { return std::to_string(r->rank); };
    return "rank " + rank(*most) + " waited for " + share(*most) + " of its steps’ time" +
           (*least == *most ? "." : ", rank " + rank(*least) + " for " + share(*least) + ".");
}

/// Runs of which several ranks' logs are known, or that have servers; nothing where none is.
inline std::string timeline_section(std::span<const run_log> runs) {
    constexpr std::size_t runs_max = 12;
    std::string out;
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const run_log& run = runs[i];
        if (run.others.empty() && run.servers.empty()) continue;
        const timeline_chart chart(run);
        if (chart.empty() || ++drawn > runs_max) continue;
        out += "<p>" + key(i) + "<b>" + escaped(run.name, 80) + "</b>: " + told_waiting(run);
        if (chart.left_out() > 0)
            out += " " + std::to_string(chart.left_out()) + " more ranks are not drawn.";
        out += "</p><div class=\"scroll\">" +
               chart.svg("What each rank of " + run.name + " did in " + seconds(chart.length()) +
                         " near the beginning") +
               "</div>";
    }
    if (out.empty()) return out;
    std::string legend;
    for (const part_of_step& part : parts_of_step)
        legend +=
            "<span><i class=\"key " + std::string(part.colour) + "\"></i>" + part.name + "</span>";
    return "<h2>Who computed, waited and sent</h2><p class=\"soft\">Some rounds of each rank "
           "that trains, soon after all had begun; a line across its row is where it had sent its "
           "gradient. What it waited is a share of the time of all its steps, starting up and "
           "ending left out. Steps that a log leaves out, and what came after a rank’s end, are "
           "blank." +
           said_of_times(runs) + "</p><p class=\"keys soft\">" + legend + "</p>" + out;
}

}  // namespace sotto::detail::reporting
