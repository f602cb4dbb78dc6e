#pragma once

#include "sotto/launch/local_processes.hpp"

#include <cstddef>
#include <cstdlib>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/launch/detail/local_run.hpp"
#include "sotto/launch/detail/reserved_port.hpp"
#include "sotto/launch/detail/system_calls.hpp"

namespace sotto::detail::launch {

SOTTO_DECL std::string name_of_job(const std::string& given, const job_mark& mark) {
    constexpr std::size_t bytes_max = 256;
    const char* const inherited = std::getenv(job_name_variable);
    std::string name = given;
    if (name.empty() && inherited != nullptr) name = inherited;
    if (name.empty()) name = "sotto-" + std::string(mark.value());
    if (name.size() > bytes_max)
        throw invalid_option("launch: the job's name has " + std::to_string(name.size()) +
                             " bytes; at most " + std::to_string(bytes_max) +
                             " are possible: shorten it");
    return name;
}

}  // namespace sotto::detail::launch

namespace sotto::launch {

SOTTO_DECL std::optional<detail::launch::ending> run(const local_processes& job) {
    if (job.size < 1 || job.size > 4096)
        throw invalid_option("launch: " + std::to_string(job.size) +
                             " processes; 1 to 4096 are possible on one machine");
    if (job.command.empty()) throw invalid_option("launch: there is no command to run");
    if (!sotto::detail::open_standard_streams())
        detail::launch::refuse_by_system("/dev/null cannot be opened");
    const detail::launch::reserved_port port;
    detail::launch::local_run ranks(job.command, job.grace, job.keep_going, job.out, job.err);
    const std::string name = detail::launch::name_of_job(job.job, ranks.mark());
    const auto number = [](int of) { return std::to_string(of); };
    for (int rank = 0; rank < job.size; ++rank)
        ranks.start({{"SOTTO_RANK", number(rank)},
                     {"SOTTO_SIZE", number(job.size)},
                     {"SOTTO_LOCAL_RANK", number(rank)},
                     {"SOTTO_LOCAL_SIZE", number(job.size)},
                     {"SOTTO_ADDRESS", "127.0.0.1"},
                     {"SOTTO_PORT", number(port.number())},
                     {detail::launch::job_name_variable, name}});
    return ranks.run();
}

}  // namespace sotto::launch
