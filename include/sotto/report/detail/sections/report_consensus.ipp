#pragma once

#include "sotto/report/detail/sections/report_consensus.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "sotto/report/detail/sections/report_curves.hpp"
#include "sotto/report/detail/sections/report_graph.hpp"
#include "sotto/report/detail/sections/report_summary.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL axis distance_axis(const run_log& run) {
    double low = std::numeric_limits<double>::infinity(), high = 0.0;
    for (const run_point& p : run.points)
        for (const distance_line& line : distance_lines) {
            const double value = (p.consensus.*line.of).value();
            if (!is_finite(value) || !(value > 0.0)) continue;
            low = (std::min)(low, value);
            high = (std::max)(high, value);
        }
    if (!(high > 0.0)) return linear_axis(0.0, 1.0);
    return log_axis(low, high, 10.0, [](double v) { return digits(v, 1); });
}

SOTTO_DECL void mark_losses(chart& c, const run_log& run) {
    constexpr std::size_t losses_max = 8;
    for (std::size_t i = 0; i < (std::min)(run.losses.size(), losses_max); ++i) {
        const rank_loss& loss = run.losses[i];
        const std::string rank = "rank " + std::to_string(loss.rank);
        if (loss.step >= 0) c.upright(static_cast<double>(loss.step), rank + " went");
        if (loss.again_step >= 0)
            c.upright(static_cast<double>(loss.again_step), rank + " came again");
    }
}

SOTTO_DECL std::string distance_chart(const run_log& run) {
    chart c("How far ranks are apart", axis_along(against::steps, std::span(&run, 1)),
            "steps (distances logarithmic)", distance_axis(run));
    std::string says;
    for (std::size_t i = 0; i < distance_lines.size(); ++i) {
        const distance_line& line = distance_lines[i];
        drawn_end end;
        draw(
            c, run.points, i, chart::weight::normal,
            [&](const run_point& p) {
                const measured_mean& mean = p.consensus.*line.of;
                return mean.count > 0 ? std::optional(mean.value()) : std::nullopt;
            },
            against::steps, end);
        if (!end.last) continue;
        c.key(line.name, i);
        says += std::string(says.empty() ? "The " : "; the ") + line.name + " ends at " +
                digits(end.last->y);
    }
    mark_losses(c, run);
    return says.empty() ? says : c.svg(says + ".");
}

SOTTO_DECL std::string cost_chart(const run_log& run, const std::string& title, std::size_t colour,
                                  std::string (*label)(double), const std::vector<taken>& values) {
    if (values.empty()) return "";
    double most = 0.0;
    for (const taken& t : values)
        if (is_finite(t.each)) most = (std::max)(most, t.each);
    chart c(title, axis_along(against::steps, std::span(&run, 1)), "steps",
            axis_from_zero(most, label));
    drawn_end end;
    draw(
        c, values, colour, chart::weight::normal,
        [](const taken& t) { return std::optional(t.each); }, against::steps, end);
    mark_losses(c, run);
    return c.svg("At most " + label(most) + ".");
}

SOTTO_DECL std::string rounds_chart(const run_log& run) {
    std::vector<taken> values;
    for (const run_point& p : run.points)
        if (p.consensus.rounds.count > 0)
            values.push_back({p.last_step, p.seconds, p.bytes_sent, p.consensus.rounds.value()});
    return cost_chart(run, "Rounds of mixing a step", 4, rounded, values);
}

SOTTO_DECL std::string sent_chart(const run_log& run) {
    std::vector<taken> values;
    double before = 0.0;
    for (const run_point& p : run.points) {
        const auto steps = static_cast<double>(p.last_step - p.first_step + 1);
        values.push_back(
            {p.last_step, p.seconds, p.bytes_sent, (std::max)(p.bytes_sent - before, 0.0) / steps});
        before = p.bytes_sent;
    }
    return run.total.bytes_sent > 0.0
               ? cost_chart(run, "Sent by rank " + std::to_string(run.about.rank) + " a step", 5,
                            bytes, values)
               : "";
}

SOTTO_DECL std::string tensor_distances(const run_log& run) {
    constexpr std::size_t rows_max = 100;
    const auto& tensors = run.about.tensors;
    const auto told = [&](std::span<const double> squares) {
        return squares.size() == tensors.size() ? squares : std::span<const double>{};
    };
    const auto apart = told(run.consensus.squared_distances()),
               moved = told(run.consensus.squared_changes());
    if (tensors.empty() || (apart.empty() && moved.empty())) return "";
    const double length = run.consensus.step_length();
    const auto head = [&](std::span<const double> squares, const std::string& name) {
        return squares.empty()
                   ? std::string()
                   : element("th", name) +
                         (length > 0.0 ? "<th>of learning rate × gradient norm</th>" : "");
    };
    const auto cells = [&](std::span<const double> squares, std::size_t from, std::size_t count) {
        if (squares.empty()) return std::string();
        double sum = 0.0;
        for (const double square : squares.subspan(from, count)) sum += square;
        const double norm = std::sqrt(sum);
        return element("td", digits(norm)) +
               (length > 0.0 ? element("td", percent(norm / length, 1)) : "");
    };
    const auto row = [&](const std::string& name, std::size_t from, std::size_t count) {
        return "<tr><th>" + name + "</th>" + cells(apart, from, count) + cells(moved, from, count) +
               "</tr>";
    };
    std::string out =
        "<details><summary>by tensor</summary><div class=\"scroll\"><table><caption>How far ranks "
        "were apart, where it was measured exactly, and by how much the last round of a step moved "
        "the tensors of rank " +
        std::to_string(run.about.rank) +
        " alone, which by a star’s hub or a rank that is near the mean says little of others: "
        "roots of the mean squares over the steps of the last epoch that "
        "tells</caption><thead><tr><th>tensor</th>" +
        head(apart, "distance, all ranks") +
        head(moved, "rank " + std::to_string(run.about.rank) + " moved by") + "</tr></thead>" +
        row("all", 0, tensors.size());
    for (std::size_t t = 0; t < (std::min)(tensors.size(), rows_max); ++t)
        out += row(escaped(tensors[t].name, 80), t, 1);
    if (tensors.size() > rows_max)
        out += "<tr><th>and " + std::to_string(tensors.size() - rows_max) + " more</th></tr>";
    return out + "</table></div></details>";
}

SOTTO_DECL std::string consensus_of(const run_log& run, std::size_t colour) {
    std::string out = "<p>" + key(colour) + "<b>" + escaped(run.name, 80) + "</b>";
    if (run.steps > 0 && run.consensus.is_told)
        out += ": " + counted(run.consensus.rounds) + " rounds of mixing in " +
               counted(static_cast<double>(run.steps)) + " steps, " +
               digits(run.consensus.rounds / static_cast<double>(run.steps)) + " a step; rank " +
               std::to_string(run.about.rank) + " sent " + bytes(run.total.bytes_sent) +
               (run.total.study_bytes > 0.0
                    ? ", of which " + bytes(run.total.study_bytes) +
                          " to measure distances exactly, which training by estimates or none "
                          "does without"
                    : "");
    if (run.consensus.missed > 0.0)
        out += ". <b>The limit of rounds was reached in " + counted(run.consensus.missed) + " of " +
               counted(run.consensus.aimed) + " steps</b>, and their target missed";
    out += ".</p>";
    std::string charts;
    if (run.about.mixing) {
        const mixing_circle circle(*run.about.mixing);
        out += "<p class=\"soft\">" + escaped(circle.told()) + ".</p>";
        if (circle.is_drawn()) charts += circle.svg();
    }
    charts += distance_chart(run) + rounds_chart(run) + sent_chart(run);
    if (!charts.empty()) out += "<div class=\"charts\">" + charts + "</div>";
    return out + tensor_distances(run);
}

SOTTO_DECL std::string consensus_section(std::span<const run_log> runs) {
    constexpr std::size_t runs_max = 12;
    std::string out;
    std::size_t drawn_runs = 0;
    for (std::size_t i = 0; i < runs.size(); ++i)
        if ((runs[i].consensus.is_told || runs[i].about.mixing) && ++drawn_runs <= runs_max)
            out += consensus_of(runs[i], i);
    if (out.empty()) return out;
    if (drawn_runs > runs_max)
        out += "<p class=\"soft\">and " + std::to_string(drawn_runs - runs_max) + " more runs</p>";
    return "<h2>How far ranks were apart</h2><p class=\"soft\">The distance is the root of the "
           "mean square of what a worker’s parameters are from the mean of all, where it was "
           "measured. The estimate is what a round of mixing moves them by, which is known anyway: "
           "the distance before that round is between half of it and 1 / (1 − λ) times it. The "
           "target is what a controller compares with the estimate, unless it measures distances "
           "itself (exact_consensus_control, fraction_of_maximum): on a graph that mixes slowly "
           "the distance is then several times the target. Below the critical distance gossip is "
           "expected to learn as fast as with exact means.</p>" +
           out;
}

}  // namespace sotto::detail::reporting
