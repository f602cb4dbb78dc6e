#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace sotto::detail::checkpoint {

/// Returns 128 random bits, in hexadecimal.
std::string random_name();

/// Most bytes of a job's name.
inline constexpr std::size_t job_bytes_max = 256;

/// Refuses a name that is too long; `whose` option names it.
///   errors  invalid_option
void require_job_name(const std::string& whose, const std::string& job);

/// Returns the name of the job, the same on all its ranks and after a restart, from the first
/// variable of the launcher that is set. Empty if none is set.
///   SOTTO_JOB_NAME       a person or sotto_launch sets it
///   SLURM_JOB_ID         a requeued job keeps it; with SLURM_STEP_ID if srun started the job
///   TORCHELASTIC_RUN_ID  unless it is "none"
std::string job_of_launcher(const std::function<std::optional<std::string>(const char*)>& variable);

/// Returns the launcher's job name of this process, or else a name of its own.
std::string job_of_process();

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/job_name.ipp"
#endif
