#pragma once

#include "sotto/report/detail/sections/report_curves.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "sotto/report/detail/sections/report_terms.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL axis axis_along(against what, std::span<const run_log> runs) {
    double low = std::numeric_limits<double>::infinity(), high = 0.0;
    const auto see = [&](const auto& w) {
        const double x = along(what, w);
        if (x > 0.0) low = (std::min)(low, x);
        high = (std::max)(high, x);
    };
    for (const run_log& run : runs) {
        for (const run_point& p : run.points) see(p);
        for (const run_log::finished_epoch& e : run.epochs) see(e);
    }
    if (what == against::sent)
        return log_axis((std::min)(low, (std::max)(high, 1.0)), (std::max)(high, 1.0), 4.0, bytes);
    if (what == against::time) return axis_from_zero(high);
    return counting_axis(high);
}

SOTTO_DECL const char* name_of(against what, std::span<const run_log> runs) noexcept {
    switch (what) {
        case against::steps: return "steps";
        case against::time: return unit_of_time(runs);
        default: return "sent by a worker (logarithmic)";
    }
}

SOTTO_DECL axis axis_of(const std::vector<double>& values, bool share) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double v : values) {
        if (!is_finite(v)) continue;
        low = (std::min)(low, v);
        high = (std::max)(high, v);
    }
    if (!(low <= high)) low = 0.0, high = 1.0;
    if (share) return share_axis(low, high);
    if (low > 0.0 && high > 20.0 * low)
        return log_axis(low, high, 10.0, [](double v) { return digits(v, 1); });
    return linear_axis(low, high);
}

SOTTO_DECL std::optional<double> of_own(const measure& what, const run_log::finished_epoch& e,
                                        double over_ranks::*which) {
    if (!what.of_own || !e.evaluated || !e.evaluated->own) return std::nullopt;
    return (*e.evaluated->own).*what.of_own.*which;
}

SOTTO_DECL std::vector<double> values_of(std::span<const run_log> runs, const measure& what) {
    std::vector<double> values, steps;
    for (const run_log& run : runs) {
        for (const run_log::finished_epoch& e : run.epochs)
            for (const auto& value : {what.of_epoch(e), of_own(what, e, &over_ranks::least),
                                      of_own(what, e, &over_ranks::most)})
                if (value) values.push_back(*value);
        if (!what.of_steps) continue;
        for (const run_point& p : run.points)
            if (p.losses > 0 && is_finite(p.loss())) {
                steps.push_back(p.loss());
                if (run.epochs.size() < 2) values.push_back(p.loss());
            }
    }
    std::sort(steps.begin(), steps.end());
    if (!steps.empty()) {  // omits the outermost 2 % of the single steps
        values.push_back(steps[steps.size() / 100]);
        values.push_back(steps[steps.size() - 1 - steps.size() / 100]);
    }
    return values;
}

SOTTO_DECL std::string left_out(std::span<const run_log> runs, const axis& y) {
    double least = y.low, most = y.high;
    for (const run_log& run : runs)
        for (const run_point& p : run.points)
            if (p.losses > 0 && y.shows(p.loss())) {
                least = (std::min)(least, p.loss());
                most = (std::max)(most, p.loss());
            }
    if (least < y.low && most > y.high)
        return "steps beyond the edges, " + digits(least) + " to " + digits(most) + ", lie on them";
    if (least < y.low) return "steps beyond the edge, down to " + digits(least) + ", lie on it";
    if (most > y.high) return "steps beyond the edge, up to " + digits(most) + ", lie on it";
    return "";
}

SOTTO_DECL std::string drawn(std::span<const run_log> runs, const measure& what, against x) {
    const axis y = axis_of(values_of(runs, what), what.share);
    chart c(what.title, axis_along(x, runs), name_of(x, runs), y);
    std::string says;
    if (const std::string out = what.of_steps ? left_out(runs, y) : ""; !out.empty()) c.note(out);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const run_log& run = runs[i];
        drawn_end end;
        if (what.of_steps)
            draw(
                c, run.points, i, chart::weight::faint,
                [](const run_point& p) {
                    return std::optional(p.losses > 0 ? p.loss() : no_number);
                },
                x, end);
        draw(c, run.epochs, i, chart::weight::normal, what.of_epoch, x, end);
        for (const auto which : {&over_ranks::least, &over_ranks::most}) {
            drawn_end ignored;
            draw(
                c, run.epochs, i, chart::weight::faint,
                [&](const run_log::finished_epoch& e) { return of_own(what, e, which); }, x,
                ignored);
        }
        if (!end.last) continue;
        c.name(*end.last, run.name, i);
        const std::string value = what.share ? percent(end.last->y) : digits(end.last->y);
        const std::string after = x == against::sent   ? bytes(end.last->x)
                                  : x == against::time ? seconds(end.last->x)
                                                       : counted(end.last->x) + " steps";
        says += run.name + (end.runs_away ? " was last a finite number, " : " ends at ") + value +
                (end.runs_away ? "," : "") + " after " + after + ". ";
    }
    return says.empty() ? std::string() : c.svg(says);
}

SOTTO_DECL std::string curves(std::span<const run_log> runs) {
    using value = std::optional<double>;
    const measure measures[] = {
        {"Accuracy on unseen data",
         [](const run_log::finished_epoch& e) {
             return e.evaluated && is_finite(e.evaluated->accuracy) ? value(e.evaluated->accuracy)
                                                                    : value();
         },
         false, true, &own_evaluations::accuracy},
        {"Loss while training, " + whose_loss(runs),
         [](const run_log::finished_epoch& e) { return e.steps > 0 ? value(e.loss) : value(); },
         true, false},
        {"Loss on unseen data",
         [](const run_log::finished_epoch& e) {
             return e.evaluated ? value(e.evaluated->loss) : value();
         },
         false, false, &own_evaluations::loss}};
    std::string out = said_of_losses(runs);
    if (const std::string serving = said_of_serving(runs); !serving.empty())
        out += "<p class=\"soft\">" + serving + "</p>";
    for (const measure& what : measures) {
        std::string row;
        for (const against x : {against::steps, against::time, against::sent}) {
            const bool sent = std::any_of(runs.begin(), runs.end(), [](const run_log& run) {
                return run.total.bytes_sent > 0.0;
            });
            if (x != against::sent || sent) row += drawn(runs, what, x);
        }
        if (!row.empty()) out += "<div class=\"charts\">" + row + "</div>";
    }
    return out;
}

}  // namespace sotto::detail::reporting
