#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/logging/run_log.hpp"
#include "sotto/report/detail/charts/report_chart.hpp"
#include "sotto/report/detail/sections/report_consensus.hpp"

namespace sotto::detail::reporting {

/// Returns a value of every point that has one.
inline std::vector<taken> of_points(const run_log& run, auto&& value) {
    std::vector<taken> values;
    const auto& taught = run.taught.points();
    for (std::size_t i = 0; i < taught.size(); ++i) {
        const run_point& p = run.points[i];
        if (const std::optional<double> found = value(p, taught[i]))
            values.push_back({p.last_step, p.seconds, p.bytes_sent, *found});
    }
    return values;
}

/// Returns a mean of each point that has one.
std::vector<taken> of_points(const run_log& run, measured_mean taught_means::*mean);

/// Returns the means over stretches of the run, of ten values or more; with few values, all values.
std::vector<taken> means_of(const std::vector<taken>& values);

/// Draws the values over the steps, with a name at their end. Returns that end.
std::optional<dot> draw_named(chart& c, const std::vector<taken>& values, std::size_t colour,
                              const std::string& name);

/// The same for values that vary between steps: the means, and each value faint.
std::optional<dot> draw_means(chart& c, const std::vector<taken>& values, std::size_t colour,
                              const std::string& name);

/// Adds the values that an axis must show: all except the outermost 2 %.
void add_shown(std::vector<double>& to, const std::vector<taken>& values);

/// Losses by labels, and by teachers.
std::string taught_losses(const run_log& run);

/// Share of labels for which the run's model agrees with its teachers; empty if it used none.
std::string agreement_chart(const run_log& run);

/// Age of the used models; below 0 if teachers are ahead.
std::string age_chart(const run_log& run);

/// Returns a teacher's name.
std::string group_of(const teacher_record& teacher);

/// Weight of each teacher; zero while it was left out, with the reason.
std::string weights_chart(const run_log& run);

/// Share of computing for teachers, in the last complete epoch with any, else over all steps. Empty
/// if there is none, or its clock differs.
std::string told_listening(const run_log& run);

/// Table of the teachers.
std::string teachers_table(const run_log& run);

/// Section of one run that has teachers.
std::string teachers_of(const run_log& run, std::size_t colour);

/// Effects of models that were trained together with a run's own; empty without any.
std::string teachers_section(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_teachers.ipp"
#endif
