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

/// What is measured of how far ranks are apart, as it is drawn.
struct distance_line {
    const char* name;                    // for people
    measured_mean consensus_means::*of;  // what
};
/// All that is drawn.
inline constexpr std::array distance_lines{
    distance_line{"distance", &consensus_means::distance},
    distance_line{"estimate", &consensus_means::estimate},
    distance_line{"target", &consensus_means::target},
    distance_line{"critical distance", &consensus_means::critical}};

/// Logarithmic, but where all is 0.
axis distance_axis(const run_log& run);

/// When ranks went and came again, of many the first.
void mark_losses(chart& c, const run_log& run);

/// Distances over the steps; nothing where none was measured.
std::string distance_chart(const run_log& run);

/// What some steps in a row took each.
struct taken {
    std::int64_t last_step = 0;              // the last of them
    double seconds = 0.0, bytes_sent = 0.0;  // of the run up to the last of them
    double each = 0.0;                       // of what is drawn, a step
};

/// Over the steps, from zero; nothing where nothing is known.
std::string cost_chart(const run_log& run, const std::string& title, std::size_t colour,
                       std::string (*label)(double), const std::vector<taken>& values);

/// Rounds of mixing a step; nothing where there were none.
std::string rounds_chart(const run_log& run);

/// Bytes that a step sent.
std::string sent_chart(const run_log& run);

/// How far ranks were apart in each tensor, by how much mixing moved it, and how these compare with
/// the steps that are learnt by.
std::string tensor_distances(const run_log& run);

/// Of one run whose ranks mix with neighbours.
std::string consensus_of(const run_log& run, std::size_t colour);

/// How far ranks that mix with neighbours were apart, and what keeping them together took; nothing
/// where no run has such ranks.
std::string consensus_section(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_consensus.ipp"
#endif
