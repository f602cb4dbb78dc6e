#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sotto/logging/run_log.hpp"

namespace sotto::detail::reporting {

/// One part of a step's time, as it is drawn.
struct part_of_step {
    const char* name;            // for people
    const char* colour;          // of the page's style
    double run_costs::*seconds;  // the part
};

/// All parts, in their order.
inline constexpr part_of_step parts_of_step[] = {{"load", "f4", &run_costs::load},
                                                 {"compute", "f0", &run_costs::compute},
                                                 {"compress", "f1", &run_costs::compress},
                                                 {"wait", "fw", &run_costs::wait},
                                                 {"apply", "f2", &run_costs::apply}};

/// That of compute in which a worker's teachers are heard.
inline constexpr part_of_step part_of_teachers{"teachers", "f3", &run_costs::listening};

/// A rank's mean step.
struct mean_step {
    std::string name;  // of the rank
    run_costs costs;   // per step
};

/// A row for each run, and where several ranks' logs are known for each of those, up to a number.
std::vector<mean_step> mean_steps(std::span<const run_log> runs);

/// Where a step's time goes, as bars of one scale and as numbers.
std::string step_times(std::span<const run_log> runs);

/// How much of the gradient leaves, step by step: shows warm-up, and what density costs with
/// indices and headers.
std::string message_shares(std::span<const run_log> runs);

/// Extents, as "3 × 4"; "scalar" where there are none.
std::string shape_of(const run_tensor& t);

/// The rows of one table: the largest tensors, and the others together.
std::string tensor_table(std::span<const run_log> runs, const std::vector<std::size_t>& members);

/// Bytes of every tensor's messages, a table for each set of tensors.
std::string tensor_bytes(std::span<const run_log> runs);

/// Wire and memory totals, and why the two ratios differ.
std::string totals(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_costs.ipp"
#endif
