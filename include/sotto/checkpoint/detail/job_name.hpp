#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace sotto::detail::checkpoint {

/// 128 random bits, in hexadecimal.
std::string random_name();

/// Bytes of a job's name at most.
inline constexpr std::size_t job_bytes_max = 256;

/// Refuses a name that is too long; `whose` option it is.
///   errors  invalid_option
void require_job_name(const std::string& whose, const std::string& job);

/// What a job is called, alike on all its ranks and after a restart, by the variables of what
/// launched it: SOTTO_JOB_NAME, which a person or sotto_launch sets; SLURM_JOB_ID, with
/// SLURM_STEP_ID where srun started it, which a job that is requeued keeps; TORCHELASTIC_RUN_ID,
/// unless it is "none". Empty if there is none of them.
std::string job_of_launcher(const std::function<std::optional<std::string>(const char*)>& variable);

/// The job that this process belongs to: that of its launcher, else one of its own.
std::string job_of_process();

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/job_name.ipp"
#endif
