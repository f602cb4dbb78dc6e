#pragma once

#include <cstdint>
#include <string>

#include "sotto/core/config.hpp"

namespace sotto {

/// What `trainer.resume` found.
struct resume_report {
    bool found = false;      // false, of try_resume alone: there was no checkpoint
    std::string file{};      // the one that was read
    std::int64_t step = 0;   // rounds completed in it
    std::int64_t epoch = 0;  // epochs completed
    int world_size = 0;      // ranks that wrote it
    std::string refused{};   // newer ones that are damaged or unreadable: a line each says why
};

/// Names on standard error newer checkpoints that cannot be used, why, and which is used instead.
void complain_of_damage(const resume_report& report);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/resume_report.ipp"
#endif
