#pragma once

#include "sotto/checkpoint/detail/job_name.hpp"

#include <cstdlib>
#include <random>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL std::string random_name() {
    constexpr char digits[] = "0123456789abcdef";
    std::random_device source;
    std::string name;
    while (name.size() < 32) {
        unsigned value = source();
        for (int i = 0; i < 8; ++i, value >>= 4) name += digits[value & 15];
    }
    return name;
}

SOTTO_DECL void require_job_name(const std::string& whose, const std::string& job) {
    if (job.size() > job_bytes_max)
        throw invalid_option(whose + ": job has " + std::to_string(job.size()) +
                             " bytes; at most " + std::to_string(job_bytes_max) + " are possible");
}

SOTTO_DECL std::string job_of_launcher(
    const std::function<std::optional<std::string>(const char*)>& variable) {
    if (const auto job = variable("SOTTO_JOB_NAME")) return *job;
    if (const auto job = variable("SLURM_JOB_ID")) {
        const auto step = variable("SLURM_STEP_ID");
        return "slurm " + *job + (step ? "." + *step : "");
    }
    if (const auto job = variable("TORCHELASTIC_RUN_ID"); job && *job != "none")
        return "torchelastic " + *job;
    return {};
}

SOTTO_DECL std::string job_of_process() {
    std::string job = job_of_launcher([](const char* name) -> std::optional<std::string> {
        const char* const value = std::getenv(name);
        if (value == nullptr || *value == '\0') return std::nullopt;
        return value;
    });
    if (!job.empty()) return job.substr(0, job_bytes_max);
    static const std::string alone = "without a launcher, " + random_name();
    return alone;
}

}  // namespace sotto::detail::checkpoint
