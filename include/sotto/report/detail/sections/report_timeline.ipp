#pragma once

#include "sotto/report/detail/sections/report_timeline.hpp"

#include <limits>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/detail/memory/sort_stably.hpp"
#include "sotto/report/detail/charts/report_axis.hpp"
#include "sotto/report/detail/charts/report_chart.hpp"
#include "sotto/report/detail/sections/report_summary.hpp"
#include "sotto/report/detail/sections/report_terms.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL timeline_chart::timeline_chart(const run_log& run) {
    add(run.timeline);
    for (const rank_timeline& other : run.others) add(other);
    sotto::detail::sort_stably(rows_,
                               [](const row& a, const row& b) { return a.of->rank < b.of->rank; });
    left_out_ = rows_.size() - (std::min)(rows_.size(), rows_max);
    rows_.resize(rows_.size() - left_out_);
    align();
}

SOTTO_DECL std::string timeline_chart::svg(std::string_view describes) const {
    const axis time = axis_from_zero(length_, seconds);
    const double bottom = top + row_height * static_cast<double>(rows_.size());
    const auto px = [&](double at) { return left + (right - left) * time.place(at); };
    std::string out = "<svg class=\"wide\" viewBox=\"0 0 " + at(width) + " " + at(bottom + 20.0) +
                      "\" role=\"img\" aria-label=\"" + escaped(describes) + "\">";
    for (const double tick : time.ticks)
        out += "<path class=\"g\" d=\"M" + at(px(tick)) + " " + at(top) + "V" + at(bottom) +
               "\"/><text class=\"t\" x=\"" + at(px(tick)) + "\" y=\"" + at(bottom + 15.0) +
               "\" text-anchor=\"middle\">" + escaped(time.label(tick)) + "</text>";
    for (std::size_t r = 0; r < rows_.size(); ++r)
        draw(rows_[r], top + row_height * static_cast<double>(r) + 2.5, px, out);
    return out + "</svg>";
}

SOTTO_DECL void timeline_chart::add(const rank_timeline& of) {
    if (!of.steps.empty()) rows_.push_back({&of, of.steps.front().began});
}

SOTTO_DECL double timeline_chart::begin_after(const row& r, std::size_t steps) {
    return r.of->steps[(std::min)(steps, (r.of->steps.size() - 1) / 2)].began;
}

SOTTO_DECL timeline_chart::stretch timeline_chart::together_after(std::size_t steps) const {
    stretch found{std::numeric_limits<double>::lowest(), (std::numeric_limits<double>::max)()};
    for (const row& r : rows_) {
        found.begin = (std::max)(found.begin, begin_after(r, steps));
        found.end = (std::min)(found.end, r.of->steps.back().ended());
    }
    return found;
}

SOTTO_DECL double timeline_chart::known_until() const {
    double first = (std::numeric_limits<double>::max)(), last = 0.0;
    for (const row& r : rows_) {
        const double ended = r.of->steps.back().ended() - r.origin;
        last = (std::max)(last, ended);
        if (r.of->steps.size() == rank_timeline::steps_max) first = (std::min)(first, ended);
    }
    return (std::min)(first, last);
}

SOTTO_DECL void timeline_chart::align() {
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

SOTTO_DECL std::vector<drawn_span> timeline_chart::spans_of(const row& r) const {
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
                                 std::string(part.name) + " of step " + std::to_string(s.number) +
                                     ": " + seconds(part.seconds)});
            ++number;
        }
    }
    return visible(spans, 0.5 * length_ / (right - left));
}

SOTTO_DECL std::string told_waiting(const run_log& run) {
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

SOTTO_DECL std::string timeline_section(std::span<const run_log> runs) {
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
