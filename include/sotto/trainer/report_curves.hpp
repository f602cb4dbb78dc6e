#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/trainer/report_chart.hpp"
#include "sotto/trainer/report_summary.hpp"
#include "sotto/trainer/report_text.hpp"
#include "sotto/trainer/run_log.hpp"

namespace sotto::reporting {

/// What a curve is drawn against.
enum class against { steps, time, sent };

template <class Where>
double along(against what, const Where& w) noexcept {
    if (what == against::time) return w.seconds;
    if (what == against::sent) return w.bytes_sent;
    if constexpr (requires { w.last_step; })
        return static_cast<double>(w.last_step);
    else
        return static_cast<double>(w.step);
}

inline axis axis_along(against what, std::span<const run_log> runs) {
    double low = std::numeric_limits<double>::infinity(), high = 0.0;
    const auto see = [&](const auto& w) {
        const double x = along(what, w);
        if (x > 0.0) low = std::min(low, x);
        high = std::max(high, x);
    };
    for (const run_log& run : runs) {
        for (const run_point& p : run.points) see(p);
        for (const run_epoch& e : run.epochs) see(e);
    }
    if (what == against::sent)
        return log_axis(std::min(low, std::max(high, 1.0)), std::max(high, 1.0), 4.0, bytes);
    if (what == against::time) return axis_from_zero(high);
    return axis_from_zero(high, counted);
}

inline const char* name_of(against what) noexcept {
    switch (what) {
        case against::steps: return "steps";
        case against::time: return "seconds";
        default: return "sent by a worker (logarithmic)";
    }
}

/// Linear from a round number to a round number; logarithmic where values lie further apart than a
/// linear axis can show.
inline axis axis_of(const std::vector<double>& values, bool share) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double v : values) {
        if (!std::isfinite(v)) continue;
        low = std::min(low, v);
        high = std::max(high, v);
    }
    if (!(low <= high)) low = 0.0, high = 1.0;
    if (share) {
        axis a = linear_axis(low, high, {});
        a.high = std::min(a.high, 1.0);
        while (a.ticks.back() > a.high + 1e-9) a.ticks.pop_back();
        const bool fine = a.ticks.size() > 1 && a.ticks[1] - a.ticks[0] < 0.0099;
        a.label = [fine](double v) { return percent(v, fine ? 1 : 0); };
        return a;
    }
    if (low > 0.0 && high > 20.0 * low)
        return log_axis(low, high, 10.0, [](double v) { return digits(v, 1); });
    return linear_axis(low, high);
}

/// A measure after every epoch, and before it, if it is one of steps, after every step.
struct measure {
    const char* title;
    double (*of_epoch)(const run_epoch&);
    bool of_steps;
    bool share;
};

inline std::string drawn(std::span<const run_log> runs, const measure& what, against x) {
    std::vector<double> values;
    for (const run_log& run : runs) {
        for (const run_epoch& e : run.epochs) values.push_back(what.of_epoch(e));
        if (what.of_steps && run.epochs.size() < 2)
            for (const run_point& p : run.points)
                if (p.losses > 0) values.push_back(p.loss());
    }
    if (what.of_steps) {  // single steps may lie outside: all but the wildest 2 % are shown
        std::vector<double> steps;
        for (const run_log& run : runs)
            for (const run_point& p : run.points)
                if (p.losses > 0 && std::isfinite(p.loss())) steps.push_back(p.loss());
        std::sort(steps.begin(), steps.end());
        if (!steps.empty()) {
            values.push_back(steps[steps.size() / 100]);
            values.push_back(steps[steps.size() - 1 - steps.size() / 100]);
        }
    }
    chart c(what.title, axis_along(x, runs), name_of(x), axis_of(values, what.share));
    std::string says;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const run_log& run = runs[i];
        std::vector<dot> line, ends;
        const auto draw = [&](chart::weight how) {
            c.line(thinned(line), i, how);
            if (!line.empty()) ends.push_back(line.back());
            line.clear();
        };
        if (what.of_steps) {
            std::int64_t part = 0;
            for (const run_point& p : run.points) {
                if (p.losses == 0 || !std::isfinite(p.loss())) continue;
                if (std::exchange(part, p.part) != p.part) draw(chart::weight::faint);
                line.push_back({along(x, p), p.loss()});
            }
            draw(chart::weight::faint);
        }
        std::int64_t part = 0;
        bool drawn_before = false;
        for (const run_epoch& e : run.epochs) {
            const double y = what.of_epoch(e);
            if (!std::isfinite(y)) continue;
            if (std::exchange(part, e.part) != e.part && drawn_before) draw(chart::weight::normal);
            drawn_before = true;
            line.push_back({along(x, e), y});
        }
        draw(chart::weight::normal);
        if (ends.empty()) continue;
        c.name(ends.back(), run.name, i);
        const double last = ends.back().y;
        says += run.name + " ends at " + (what.share ? percent(last) : digits(last)) + " after " +
                (x == against::sent   ? bytes(ends.back().x)
                 : x == against::time ? seconds(ends.back().x)
                                      : counted(ends.back().x) + " steps") +
                ". ";
    }
    return says.empty() ? std::string() : c.svg(says);
}

/// Loss and accuracy against steps, seconds and bytes.
inline std::string curves(std::span<const run_log> runs) {
    const measure measures[] = {
        {"Accuracy on unseen data",
         [](const run_epoch& e) { return e.evaluated ? e.evaluated->accuracy : std::nan(""); },
         false, true},
        {"Loss while training", [](const run_epoch& e) { return e.loss; }, true, false},
        {"Loss on unseen data",
         [](const run_epoch& e) { return e.evaluated ? e.evaluated->loss : std::nan(""); }, false,
         false}};
    std::string out;
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

}  // namespace sotto::reporting
