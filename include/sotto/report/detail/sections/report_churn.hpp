#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "sotto/logging/detail/report_text.hpp"
#include "sotto/logging/run_log.hpp"
#include "sotto/report/detail/charts/report_chart.hpp"
#include "sotto/report/detail/sections/report_summary.hpp"

namespace sotto::detail::reporting {

/// One measure of all runs' churns, as bars of one scale, each compared with the first.
inline std::string churn_bars(std::span<const run_log> runs, double churn::*measure, auto shown) {
    constexpr std::size_t bars_max = 100;
    double most = 0.0, first = -1.0;
    std::size_t all = 0;
    for (const run_log& run : runs)
        for (const run_churn& each : run.churns)
            most = (std::max)(most, each.found.*measure), ++all;
    std::string out;
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < runs.size(); ++i)
        for (const run_churn& each : runs[i].churns) {
            if (++drawn > bars_max) break;
            const double value = each.found.*measure;
            out += "<div><div>" + key(i) + escaped(runs[i].name, 60) + " and " +
                   escaped(each.to, 60) + "</div><div class=\"bar\">";
            if (value > 0.0)
                out += "<span class=\"f" + chart::place(i) +
                       "\" style=\"width:" + fixed(100.0 * value / most, 2) + "%\"></span>";
            out += "</div><div>" + shown(value);
            if (first > 0.0)
                out += ", " + percent(std::abs(1.0 - value / first), 0) +
                       (value > first ? " more" : " less");
            else if (first < 0.0)
                first = value;
            out += "</div></div>";
        }
    out = "<div class=\"rows\">" + out + "</div>";
    if (all > bars_max)
        out += "<p class=\"soft\">and " + std::to_string(all - bars_max) + " more</p>";
    return out;
}

/// Churn between trainings, from the logs; empty if no log has any.
std::string churn_section(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_churn.ipp"
#endif
