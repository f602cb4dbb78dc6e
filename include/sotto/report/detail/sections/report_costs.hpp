#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sotto/logging/run_log.hpp"

namespace sotto::detail::reporting {

/// One part of a step's time in the charts.
struct part_of_step {
    const char* name;            // name for people
    const char* colour;          // colour in the page's style
    double run_costs::*seconds;  // seconds of the part
};

/// All parts, in order.
inline constexpr part_of_step parts_of_step[] = {{"load", "f4", &run_costs::load},
                                                 {"compute", "f0", &run_costs::compute},
                                                 {"compress", "f1", &run_costs::compress},
                                                 {"wait", "fw", &run_costs::wait},
                                                 {"apply", "f2", &run_costs::apply}};

/// The part of compute for a worker's teachers.
inline constexpr part_of_step part_of_teachers{"teachers", "f3", &run_costs::listening};

/// A rank's mean step.
struct mean_step {
    std::string name;  // name of the rank
    run_costs costs;   // costs per step
};

/// Returns a row for each run. If logs of several ranks are known, one for each of the first ranks.
std::vector<mean_step> mean_steps(std::span<const run_log> runs);

/// Parts of a step's time, as bars of one scale and as numbers.
std::string step_times(std::span<const run_log> runs);

/// Size of messages relative to the gradient, step by step: shows warm-up, and the size of indices
/// and headers at a density.
std::string message_shares(std::span<const run_log> runs);

/// Returns extents such as "3 × 4"; "scalar" without extents.
std::string shape_of(const run_tensor& t);

/// Rows of one table: the largest tensors, and the sum of the others.
std::string tensor_table(std::span<const run_log> runs, const std::vector<std::size_t>& members);

/// Bytes of every tensor's messages, a table for each set of tensors.
std::string tensor_bytes(std::span<const run_log> runs);

/// Totals of network and memory, and why the two ratios differ.
std::string totals(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_costs.ipp"
#endif
