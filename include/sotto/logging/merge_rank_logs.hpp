#pragma once

#include <string>
#include <span>
#include <vector>

#include "sotto/logging/run_log.hpp"

namespace sotto::detail {

rank_total total_of(const run_log& log);

/// Returns the number of ranks that did a step, from their own logs. Servers' reports replace
/// missing logs, and the options replace both.
int ranks_that_trained(std::span<const run_log> logs, const run_log& run);

}  // namespace sotto::detail

namespace sotto {

/// Merges the logs of a run's ranks into one run: that of the first rank that trained, or of the
/// first rank if none did. It adds the reports of all servers, and the timelines and costs of the
/// other ranks. Examples are the sum over all logs; a rank without a log counts as the mean of the
/// others.
run_log merge_rank_logs(std::vector<run_log> ranks);

/// The same from files: PATH and as many of PATH.rank1, PATH.rank2, ... as exist.
///   errors  those of read_json_lines
run_log read_json_lines_of_ranks(const std::string& path);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/merge_rank_logs.ipp"
#endif
