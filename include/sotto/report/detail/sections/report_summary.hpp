#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "sotto/logging/run_log.hpp"

namespace sotto::detail::reporting {

/// True if the ranks' logs contain the bytes of each of several workers.
bool knows_each(const run_log& run) noexcept;

/// Returns the bytes that a worker sent: the mean if several are known, else those of this rank.
double sent_by_one(const run_log& run) noexcept;

/// Returns the same per step, as the run continues.
double sent_a_step(const run_log& run) noexcept;

/// Returns the rank that sent most, such as ", rank 0 380 MiB"; empty if it is about the mean.
std::string most_sent(const run_log& run);

/// Returns "each of N workers", with a remark if N changed. Workers of a server may do different
/// numbers of steps, and those of a graph may have different numbers of links. The text then names
/// the rank and whether it serves, or marks the value as an average.
std::string each_worker(const run_log& run);

/// True if the run has another rank that gradients are sent to.
bool has_others(const run_log& run) noexcept;

/// Returns the time until the last rank with a log ended, which need not be the first rank.
double seconds_of_all(const run_log& run) noexcept;

/// True if two amounts are shown as equal.
bool look_alike(double a, double b) noexcept;

/// True if messages are the gradients themselves: the reference of other runs.
bool sends_whole_gradients(const run_log& run) noexcept;

/// Returns the reference run of a run's totals, perhaps itself: the first with as many workers,
/// more than one, on the same tensors, that sent whole gradients. Both logs must be complete.
const run_log* dense_beside(std::span<const run_log> runs, const run_log& run) noexcept;

/// Returns the first epoch after which a run had this accuracy.
const run_log::finished_epoch* reached(const run_log& run, double accuracy) noexcept;

/// Returns an accuracy that every run reached: the minimum of their best ones.
std::optional<double> common_accuracy(std::span<const run_log> runs) noexcept;

/// Returns <tag>inner</tag>, without escaping.
std::string element(const char* tag, const std::string& inner);

/// Returns the sign of a colour in tables.
std::string key(std::size_t colour);

/// Totals of all workers with a log.
std::string all_workers(const run_log& run);

/// Quality of ranks' own models next to the mean of all; empty if not measured.
std::string own_models(const evaluation& found, const std::string& said);

/// Bytes that a worker sent for its own gradients: if it also serves, only its messages.
double sent_as_worker(const run_log& run) noexcept;

/// The same relative to whole gradients sent with this run's strategy; empty if about equal.
std::string beside_whole(const run_log& run);

/// The share of a rank's sent bytes that is its own, if it also serves.
std::string own_messages(const run_log& run);

/// Summary of one run.
std::string told_alone(const run_log& run);

/// Bytes that a run sent, relative to the run with whole gradients.
std::string sent_beside(const run_log& run, const run_log& dense);

/// Comparison of a run with the run with whole gradients.
std::string told_beside(const run_log& run, const run_log& dense);

/// Comparison of the runs with whole gradients, in sentences.
std::string told(std::span<const run_log> runs);

/// One number of a card, and its label.
std::string number_of_card(const std::string& value, const std::string& what);

/// Bytes of a rank that also serves, and the part to compare with whole gradients.
std::string served_in_card(const run_log& run);

/// Bytes that a worker sent, relative to whole gradients.
std::string sent_in_card(const run_log& run);

/// The main numbers of one run.
std::string card(const run_log& run, std::size_t colour);

/// A card for each run.
std::string cards(std::span<const run_log> runs);

/// Costs until every run reached the same accuracy, for runs with complete logs.
std::string equal_accuracy(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_summary.ipp"
#endif
