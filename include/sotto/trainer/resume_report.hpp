#pragma once

#include <cstdint>
#include <string>

#include "sotto/core/config.hpp"

namespace sotto {

/// Result of `trainer.resume`.
struct resume_report {
    bool found = false;      // false, only from try_resume: there was no checkpoint
    std::string file{};      // file that was read
    std::int64_t step = 0;   // rounds completed at that point
    std::int64_t epoch = 0;  // epochs completed
    int world_size = 0;      // number of ranks that wrote it
    std::string refused{};   // newer ones, damaged or unreadable: one line each with the reason
};

/// Prints on standard error which newer checkpoints cannot be used, why, and which one is used
/// instead.
void complain_of_damage(const resume_report& report);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/resume_report.ipp"
#endif
