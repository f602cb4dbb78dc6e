#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "sotto/logging/run_log.hpp"
#include "sotto/report/advice.hpp"

namespace sotto::detail::reporting {

/// The run whose steps other ways to send are compared with: the first of several workers that sent
/// whole gradients; without one, the first of several workers. What is predicted is of all-reduces,
/// so not one whose gradients go to a server.
const run_log* compared_run(std::span<const run_log> runs) noexcept;

/// Steps from one exchange to the next, by local_updates; 1 of others.
double steps_to_meet(const run_log& run) noexcept;

/// Messages of a step that wait for each other, where ranks meet seldom the mean over steps. The
/// log tells what a tensor became, not how it went: vectors, and what has four or two bytes a
/// value, are taken to have been summed, the rest to have been gathered by the way that suits the
/// run's densest steps, as of its warm-up.
double messages_of(const run_log& run) noexcept;

/// What a run of several workers measured, as a way to send.
way_to_send way_of(const run_log& run, std::size_t number);

/// What the runs themselves measured, as ways to send; computing is that of the run that the others
/// are compared with. Without whole gradients, these are added by the cost model alone. Nothing
/// where there was one worker, or one way.
std::optional<advice> advice_from(std::span<const run_log> runs, const network_link& link);

/// The runs that an advice from their measures says nothing of: empty, or in brackets.
std::string not_compared(std::span<const run_log> runs, const advice& found);

/// Where nothing can be compared: why, and what is known nevertheless.
std::string nothing_to_compare(std::span<const run_log> runs,
                               const std::optional<network_link>& link);

/// Step time against bandwidth, both logarithmic, with the link at hand and where the lines cross.
std::string crossover_chart(const advice& found, bool link_known);

/// "Does it pay here?": the answer, the crossover, and the table that it comes from.
std::string advice_section(const advice& found, bool link_known, const std::string& source);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_advice.ipp"
#endif
