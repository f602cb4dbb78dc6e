#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/logging/detail/taught_record.hpp"

namespace sotto::detail {

/// Returns a percentage such as "94 %". Near 0 and 100 it has a decimal place, so that only exactly
/// none or all shows as 0 or 100.
std::string percent_of(std::int64_t part, std::int64_t whole);

/// Returns a text such as "all 350 steps" or "94 % of the 350 steps".
std::string part_of_steps(std::int64_t part, std::int64_t whole);

/// Returns a text such as "37 steps old", "1 step old" or "12 steps ahead".
std::string told_age(double age);

/// Returns "at steps 400 to 450", or "from step 400 on" if the stretch lasts to the end.
std::string told_steps(const left_out_steps& steps, std::int64_t last);

/// Returns "once" or "3 times".
std::string told_times(std::int64_t count);

/// Returns "not finite" or, for several reasons, "worse 3 times, not finite once".
std::string told_reasons(const teacher_record& teacher);

/// Returns the summary of one teacher as a sentence without its period. The first of several also
/// names the steps.
std::string summary_of(const teacher_record& teacher, const taught_record& of, bool is_first);

/// Returns the summary of the first teachers in sentences; empty if a run has no teachers.
std::string summary_of(const taught_record& taught);

/// Returns a teacher's current state and its first step, for a line at each change.
std::string told_change(const teacher_record& teacher);

/// Returns the current state of a rank's own models and its first step, for a line at each change.
std::string told_change(const published_record& published);

/// Returns bytes such as "4 KiB", with a space that any terminal shows.
std::string told_bytes(double count);

/// Returns the summary of a rank's own models in sentences; empty if none was published or failed.
std::string summary_of(const published_record& published);

/// Returns the first teachers that are left out at the end, a line for each, and the current
/// problem of the rank's own models. An absent teacher may be a job that was not started, so it is
/// excluded.
std::vector<std::string> troubles_in_the_end(const taught_record& taught);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/taught_summary.ipp"
#endif
