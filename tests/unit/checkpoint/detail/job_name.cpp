#include "sotto/checkpoint/detail/job_name.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "sotto/core/errors.hpp"

using namespace sotto;

namespace {

std::string job_of(const std::map<std::string, std::string>& variables) {
    return detail::checkpoint::job_of_launcher([&](const char* name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
}

}  // namespace

TEST_CASE("job_of_launcher: variables of launchers -> a name that ranks and restarts share") {
    CHECK(job_of({}).empty());
    CHECK(job_of({{"SOTTO_JOB_NAME", "nightly"}}) == "nightly");
    CHECK(job_of({{"SOTTO_JOB", "17.5"}}).empty());  // another one with each start
    CHECK(job_of({{"SLURM_JOB_ID", "12"}}) == "slurm 12");
    CHECK(job_of({{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "0"}}) == "slurm 12.0");
    CHECK(job_of({{"SLURM_STEP_ID", "0"}}).empty());
    CHECK(job_of({{"TORCHELASTIC_RUN_ID", "abc"}}) == "torchelastic abc");
    CHECK(job_of({{"TORCHELASTIC_RUN_ID", "none"}}).empty());  // torchrun without an id
    // The innermost counts.
    CHECK(job_of({{"SOTTO_JOB_NAME", "nightly"}, {"SLURM_JOB_ID", "12"}}) == "nightly");
}

TEST_CASE("job_of_process: without a launcher -> the same in this process, another elsewhere") {
    CHECK(detail::checkpoint::job_of_process() == detail::checkpoint::job_of_process());
    CHECK(sotto::detail::checkpoint::random_name().size() == 32);
    CHECK(sotto::detail::checkpoint::random_name() != sotto::detail::checkpoint::random_name());
}

TEST_CASE("job_of_process: an empty variable -> no name; a long one -> 256 bytes") {
    for (const char* name : {"SLURM_JOB_ID", "TORCHELASTIC_RUN_ID"}) ::unsetenv(name);
    ::setenv("SOTTO_JOB_NAME", "", 1);
    CHECK(detail::checkpoint::job_of_process().starts_with("without a launcher, "));
    ::setenv("SLURM_JOB_ID", "12", 1);
    CHECK(detail::checkpoint::job_of_process() == "slurm 12");
    ::unsetenv("SLURM_JOB_ID");
    ::setenv("SOTTO_JOB_NAME", std::string(300, 'x').c_str(), 1);
    CHECK(detail::checkpoint::job_of_process() == std::string(256, 'x'));
    ::unsetenv("SOTTO_JOB_NAME");
}

TEST_CASE("require_job_name: a name that is too long -> refused with its length") {
    CHECK_NOTHROW(detail::checkpoint::require_job_name("checkpoints", std::string(256, 'x')));
    CHECK_THROWS_WITH_AS(detail::checkpoint::require_job_name("checkpoints", std::string(257, 'x')),
                         "checkpoints: job has 257 bytes; at most 256 are possible",
                         invalid_option);
}
