#pragma once

#include "sotto/report/detail/sections/report_churn.hpp"

#include "sotto/core/config.hpp"
#include "sotto/models/churn.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL std::string churn_section(std::span<const run_log> runs) {
    if (std::all_of(runs.begin(), runs.end(), [](const run_log& r) { return r.churns.empty(); }))
        return "";
    return "<h2>How much predictions change</h2><p class=\"soft\">Of the same examples, between a "
           "run’s model and another that is as good: its accuracy may be the same while it says "
           "other things of single examples. Each is compared with the first.</p><p>Examples of "
           "which another output is the likeliest</p>" +
           churn_bars(runs, &churn::flips, [](double value) { return percent(value, 1); }) +
           "<p>Mean difference of a probability</p>" +
           churn_bars(runs, &churn::difference, [](double value) { return digits(value); });
}

}  // namespace sotto::detail::reporting
