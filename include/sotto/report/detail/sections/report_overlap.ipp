#pragma once

#include "sotto/report/detail/sections/report_overlap.hpp"

#include <algorithm>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/sort_stably.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "sotto/report/detail/charts/report_chart.hpp"
#include "sotto/report/detail/sections/report_summary.hpp"
#include "sotto/report/detail/sections/report_terms.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL std::vector<drawn_span> visible(const std::vector<drawn_span>& spans, double shortest) {
    std::vector<drawn_span> out;
    double longest = 0.0;  // of the parts of the last span
    for (const drawn_span& s : spans) {
        const double length = s.end - s.begin;
        if (!(length > 0.0)) continue;
        const bool touches = !out.empty() && s.begin - out.back().end < shortest;
        if (touches && length < shortest && out.back().end - out.back().begin < shortest) {
            if (length > longest) out.back().colour = s.colour;
            longest = (std::max)(longest, length);
            out.back().end = (std::max)(out.back().end, s.end);
            out.back().says = several_spans;
            continue;
        }
        out.push_back(s);
        longest = length;
    }
    return out;
}

SOTTO_DECL round_chart::round_chart(const round_times& round,
                                    const std::vector<run_tensor>& tensors)
    : round_(round), time_(axis_from_zero(round.ended, seconds)) {
    add_worker(tensors);
    add_tensors(tensors);
}

SOTTO_DECL std::string round_chart::svg(std::string_view describes) const {
    double last_left = 0.0;
    for (const auto& t : round_.tensors) last_left = (std::max)(last_left, t.left);
    const double bottom = top + row_height * static_cast<double>(rows_.size());
    std::string out = "<svg class=\"wide\" viewBox=\"0 0 " + at(width) + " " + at(bottom + 20.0) +
                      "\" role=\"img\" aria-label=\"" + escaped(describes) + "\">";
    for (const double tick : time_.ticks)
        out += "<path class=\"g\" d=\"M" + at(px(tick)) + " " + at(top) + "V" + at(bottom) +
               "\"/><text class=\"t\" x=\"" + at(px(tick)) + "\" y=\"" + at(bottom + 15.0) +
               "\" text-anchor=\"middle\">" + escaped(time_.label(tick)) + "</text>";
    for (std::size_t r = 0; r < rows_.size(); ++r) draw(rows_[r], static_cast<double>(r), out);
    const bool late = time_.place(last_left) > 0.7;
    return out + "<path class=\"here\" d=\"M" + at(px(last_left)) + " " + at(top - 4.0) + "V" +
           at(bottom) + "\"/><text class=\"t\" x=\"" + at(px(last_left) + (late ? -5.0 : 5.0)) +
           "\" y=\"" + at(top - 6.0) + "\"" + (late ? " text-anchor=\"end\"" : "") +
           ">all sent</text></svg>";
}

SOTTO_DECL std::vector<drawn_span> round_chart::seen(const std::vector<drawn_span>& spans) const {
    return visible(spans, 0.5 * round_.ended / (right - left));
}

SOTTO_DECL void round_chart::add_worker(const std::vector<run_tensor>& tensors) {
    std::vector<drawn_span> spans;
    for (const worker_span& s : worker_spans(round_))
        spans.push_back({s.begin, s.end, colour_of(s.what),
                         name_of(s.what) + (s.tensor == worker_span::no_tensor
                                                ? std::string()
                                                : " " + tensors[s.tensor].name)});
    rows_.push_back({"worker", seen(spans), true});
}

SOTTO_DECL void round_chart::add_tensors(const std::vector<run_tensor>& tensors) {
    std::vector<std::size_t> order = detail::in_order_of(round_, &round_times::of_tensor::left);
    std::erase_if(order, [&](std::size_t i) { return tensors[i].size == 0; });
    std::vector<std::size_t> by_size = order;
    sotto::detail::sort_stably(
        by_size, [&](std::size_t a, std::size_t b) { return tensors[a].size > tensors[b].size; });
    const bool all = by_size.size() <= tensors_max;
    std::vector<bool> alone(tensors.size(), all);
    if (!all)
        for (std::size_t k = 0; k < tensors_max; ++k) alone[by_size[k]] = true;
    std::vector<drawn_span> others;
    for (const std::size_t i : order) {
        const auto& t = round_.tensors[i];
        if (alone[i]) {
            rows_.push_back({tensors[i].name, {{t.left, t.arrived, in_flight, "under way"}}});
        } else if (!others.empty() && t.left <= others.back().end) {
            others.back().end = (std::max)(others.back().end, t.arrived);
        } else {
            others.push_back({t.left, t.arrived, in_flight, "under way"});
        }
    }
    if (!all)
        rows_.push_back(
            {std::to_string(by_size.size() - tensors_max) + " smaller ones", seen(others)});
}

SOTTO_DECL void round_chart::draw(const row& r, double number, std::string& out) const {
    const double y = top + row_height * number + 2.5;
    out += "<text class=\"" + std::string(r.labelled ? "h" : "t") + "\" x=\"" + at(left - 8.0) +
           "\" y=\"" + at(y + 11.0) + "\" text-anchor=\"end\">" + escaped(r.name, 28) + "</text>";
    for (const drawn_span& s : r.spans) {
        const double x = px(s.begin), length = (std::max)(px(s.end) - x, 0.3);
        out += "<rect class=\"c" + chart::place(s.colour) + "\" x=\"" + at(x) + "\" y=\"" + at(y) +
               "\" width=\"" + at(length) + "\" height=\"" + at(bar_height) + "\"><title>" +
               escaped(s.says, 80) + ": " + seconds(s.end - s.begin) + " from " + seconds(s.begin) +
               " on</title></rect>";
    }
}

SOTTO_DECL std::string told_overlap(const run_log& run, const overlap& drawn) {
    const auto [costs, steps] = run.steady();
    const overlap mean{costs.exchange, (std::min)(costs.hidden, costs.exchange)};
    std::string out = "<b>" + escaped(run.name, 80) + "</b>: ";
    if (mean.exchange > 0.0)
        out += "<b>" + percent(mean.share(), 0) + "</b> of the exchange was hidden: of the " +
               seconds(mean.exchange / static_cast<double>(std::max<std::int64_t>(steps, 1))) +
               " a step in which something was under way, the worker computed and compressed for " +
               seconds(mean.hidden / static_cast<double>(std::max<std::int64_t>(steps, 1))) + ". ";
    return out + "Below is step " + counted(static_cast<double>(run.typical_round->step)) +
           ", of median length of the last in its epoch; of it " + percent(drawn.share(), 0) +
           " was hidden.";
}

SOTTO_DECL std::string overlap_section(std::span<const run_log> runs) {
    constexpr std::size_t most = 6;
    std::string rounds;
    std::size_t drawn = 0;
    for (const run_log& run : runs) {
        const auto& round = run.typical_round;
        if (!round || run.about.ranks() < 2 || !(round->ended > 0.0) ||
            round->tensors.size() != run.about.tensors.size() || ++drawn > most)
            continue;
        const overlap found = overlap_of(*round);
        round_chart c(*round, run.about.tensors);
        rounds += "<p>" + told_overlap(run, found) + "</p><div class=\"scroll\">" +
                  c.svg("One round of " + run.name + " over " + seconds(round->ended) +
                        ": something was under way for " + seconds(found.exchange) + ", of which " +
                        percent(found.share(), 0) + " was hidden behind the worker’s own work.") +
                  "</div>";
    }
    if (rounds.empty()) return rounds;
    std::string legend;
    const auto add = [&](std::size_t colour, const char* name) {
        legend += "<span>" + key(colour) + name + "</span>";
    };
    for (const work_of_round what : {work_of_round::compute, work_of_round::compress,
                                     work_of_round::decode, work_of_round::apply})
        add(round_chart::colour_of(what), name_of(what));
    add(round_chart::in_flight, "under way between workers");
    return "<h2>Overlap</h2><p class=\"soft\">A tensor’s message leaves as soon as its gradient is "
           "ready, while earlier layers still compute; until all are sent, what is under way costs "
           "no time. Where the worker’s row is empty, it waits. A worker sees that a message "
           "arrived when its next tensor is ready." +
           said_of_times(runs) + "</p><p class=\"keys soft\">" + legend + "</p>" + rounds;
}

}  // namespace sotto::detail::reporting
