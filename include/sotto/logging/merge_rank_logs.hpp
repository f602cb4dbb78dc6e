#pragma once

#include <string>
#include <span>
#include <vector>

#include "sotto/logging/run_log.hpp"

namespace sotto::detail {

rank_total total_of(const run_log& log);

/// How many ranks did a step: by their own logs, where one is missing by what servers told, and
/// without any by the options.
int ranks_that_trained(std::span<const run_log> logs, const run_log& run);

}  // namespace sotto::detail

namespace sotto {

/// One run, of what each of its ranks logged: that of the first rank that trained, or of the first
/// if none did, with what all servers told, when the others did what and what it cost each. Its
/// examples are those of all logs; ranks of which there is none count as the mean of the others.
run_log merge_rank_logs(std::vector<run_log> ranks);

/// The same from files: PATH, and PATH.rank1 and so on, as json_lines names those of other ranks;
/// of these as many as there are.
///   errors  see read_json_lines
run_log read_json_lines_of_ranks(const std::string& path);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/merge_rank_logs.ipp"
#endif
