#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "sotto/logging/run_log.hpp"
#include "sotto/report/advice.hpp"

namespace sotto::detail::reporting {

/// Returns the reference run of the advice: the first of several workers that sent whole gradients,
/// or else the first of several workers. The prediction is for all-reduces, so runs with servers
/// are excluded.
const run_log* compared_run(std::span<const run_log> runs) noexcept;

/// Returns the number of steps from one exchange to the next with local_updates; 1 without it.
double steps_to_meet(const run_log& run) noexcept;

/// Returns the number of messages of a step that wait for each other; if ranks meet rarely, the
/// mean over steps. The log has the size of a tensor's message, not its algorithm. So vectors, and
/// tensors with four or two bytes a value, are assumed to be summed. All others are assumed to be
/// gathered, with the algorithm for the run's densest steps, such as those of its warm-up.
double messages_of(const run_log& run) noexcept;

/// Returns the measurements of a run of several workers as a way to send.
way_to_send way_of(const run_log& run, std::size_t number);

/// Returns the advice from the measurements of the runs. Computing time is that of the reference
/// run. If no run sent whole gradients, the cost model alone adds them. Returns nothing for one
/// worker or one way.
std::optional<advice> advice_from(std::span<const run_log> runs, const network_link& link);

/// Returns the runs that the advice does not cover, in brackets; or an empty text.
std::string not_compared(std::span<const run_log> runs, const advice& found);

/// Returns the reason that no runs are comparable, and the known facts.
std::string nothing_to_compare(std::span<const run_log> runs,
                               const std::optional<network_link>& link);

/// Step time against bandwidth, both logarithmic, with the current link and the crossings of the
/// lines.
std::string crossover_chart(const advice& found, bool link_known);

/// "Does it pay here?": the answer, the crossover chart, and the table of its values.
std::string advice_section(const advice& found, bool link_known, const std::string& source);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_advice.ipp"
#endif
