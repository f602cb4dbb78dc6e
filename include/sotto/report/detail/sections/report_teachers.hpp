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

/// A number of every point that has it.
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

/// A mean of each point, where it is known.
std::vector<taken> of_points(const run_log& run, measured_mean taught_means::*mean);

/// The means over stretches of the run, of ten values or more; all where there are but few.
std::vector<taken> means_of(const std::vector<taken>& values);

/// Draws it over the steps, with its name at its end; where that is.
std::optional<dot> draw_named(chart& c, const std::vector<taken>& values, std::size_t colour,
                              const std::string& name);

/// The same of what differs from step to step: the means, and each value faint.
std::optional<dot> draw_means(chart& c, const std::vector<taken>& values, std::size_t colour,
                              const std::string& name);

/// What an axis has to show of them: all but the wildest 2 %.
void add_shown(std::vector<double>& to, const std::vector<taken>& values);

/// What is learnt by: labels, and what others say.
std::string taught_losses(const run_log& run);

/// How often the run's model says what its teachers say; nothing where it has heard none.
std::string agreement_chart(const run_log& run);

/// How old what was heard was; less than 0 where teachers are ahead.
std::string age_chart(const run_log& run);

/// What a teacher is called.
std::string group_of(const teacher_record& teacher);

/// What each teacher weighed: nothing while it was left out, where the reason stands.
std::string weights_chart(const run_log& run);

/// Which part of computing listening is, in the last complete epoch that has any, else in all
/// steps; nothing where there is none, or its clock is another's.
std::string told_listening(const run_log& run);

/// What became of each teacher.
std::string teachers_table(const run_log& run);

/// Of one run that has teachers.
std::string teachers_of(const run_log& run, std::size_t colour);

/// What models that are trained beside a run's own taught it; nothing where none did.
std::string teachers_section(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_teachers.ipp"
#endif
