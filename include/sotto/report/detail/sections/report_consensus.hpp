#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/logging/run_log.hpp"
#include "sotto/report/detail/charts/report_axis.hpp"
#include "sotto/report/detail/charts/report_chart.hpp"

namespace sotto::detail::reporting {

/// A measure of the distance between ranks, and its line.
struct distance_line {
    const char* name;                    // name for people
    measured_mean consensus_means::*of;  // measure
};
/// All lines.
inline constexpr std::array distance_lines{
    distance_line{"distance", &consensus_means::distance},
    distance_line{"estimate", &consensus_means::estimate},
    distance_line{"target", &consensus_means::target},
    distance_line{"critical distance", &consensus_means::critical}};

/// Logarithmic, unless all values are 0.
axis distance_axis(const run_log& run);

/// Marks the first lost ranks and their returns.
void mark_losses(chart& c, const run_log& run);

/// Distances over the steps; empty if none was measured.
std::string distance_chart(const run_log& run);

/// A mean over consecutive steps.
struct taken {
    std::int64_t last_step = 0;              // last of these steps
    double seconds = 0.0, bytes_sent = 0.0;  // of the run up to the last step
    double each = 0.0;                       // value a step of the drawn measure
};

/// Chart over the steps, from zero; empty without values.
std::string cost_chart(const run_log& run, const std::string& title, std::size_t colour,
                       std::string (*label)(double), const std::vector<taken>& values);

/// Rounds of mixing a step; empty without any.
std::string rounds_chart(const run_log& run);

/// Bytes sent a step.
std::string sent_chart(const run_log& run);

/// Table by tensor: distance between ranks, distance that mixing moved it, and both relative to the
/// length of an optimizer step.
std::string tensor_distances(const run_log& run);

/// Section of one run whose ranks mix with neighbours.
std::string consensus_of(const run_log& run, std::size_t colour);

/// Distances between ranks that mix with neighbours, and the costs of mixing; empty if no run has
/// such ranks.
std::string consensus_section(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_consensus.ipp"
#endif
