#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/logging/detail/taught_record.hpp"

namespace sotto::detail {

/// "94 %": near none and all with a tenth, so that neither is said where it is not so.
std::string percent_of(std::int64_t part, std::int64_t whole);

/// "all 350 steps", "94 % of the 350 steps".
std::string part_of_steps(std::int64_t part, std::int64_t whole);

/// "37 steps old", "1 step old", "12 steps ahead".
std::string told_age(double age);

/// "at steps 400 to 450", "from step 400 on" where that is how it ended.
std::string told_steps(const left_out_steps& steps, std::int64_t last);

/// "once", "3 times".
std::string told_times(std::int64_t count);

/// "not finite", or of several reasons "worse 3 times, not finite once".
std::string told_reasons(const teacher_record& teacher);

/// What became of one teacher, as a sentence without its end; the first of several says of which
/// steps.
std::string summary_of(const teacher_record& teacher, const taught_record& of, bool is_first);

/// What became of all of them, in sentences for people; of many the first. Nothing where a run has
/// no teachers.
std::string summary_of(const taught_record& taught);

/// How a teacher stands since a step, for a line when that changes.
std::string told_change(const teacher_record& teacher);

/// How a rank's own models fare since a step, for a line when that changes.
std::string told_change(const published_record& published);

/// "4 KiB", with a blank that any terminal shows.
std::string told_bytes(double count);

/// What became of them, in sentences for people; nothing where none was published or failed.
std::string summary_of(const published_record& published);

/// Those that are left out in the end, a line for each; of many the first. Who is absent may
/// be a job that was not started, and is not among them. And what hinders this rank's own models.
std::vector<std::string> troubles_in_the_end(const taught_record& taught);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/taught_summary.ipp"
#endif
