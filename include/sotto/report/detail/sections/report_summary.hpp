#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "sotto/logging/run_log.hpp"

namespace sotto::detail::reporting {

/// Whether ranks' own logs say what each of several workers sent.
bool knows_each(const run_log& run) noexcept;

/// What a worker sent: on average, where it is known of several; else this one.
double sent_by_one(const run_log& run) noexcept;

/// The same of a step, as the run goes on.
double sent_a_step(const run_log& run) noexcept;

/// Who sent most, where that is not what a worker sends on average: ", rank 0 380 MiB".
std::string most_sent(const run_log& run);

/// "each of N workers", and where there were not always so many, that. Workers of a server need
/// not do as many steps as each other, nor those on a graph have as many links: then which one it
/// is, whether it serves, or that it is an average.
std::string each_worker(const run_log& run);

/// Whether there was somebody to send gradients to.
bool has_others(const run_log& run) noexcept;

/// Until the last rank had ended whose log is known: the first need not be the last.
double seconds_of_all(const run_log& run) noexcept;

/// Whether two amounts are told alike, as so many times each other.
bool look_alike(double a, double b) noexcept;

/// Whether messages are the gradients themselves: what others are compared with.
bool sends_whole_gradients(const run_log& run) noexcept;

/// The run that a run's totals are compared with: the first of as many workers, more than one, on
/// the same tensors, that sent whole gradients; itself, perhaps. Both must be known whole.
const run_log* dense_beside(std::span<const run_log> runs, const run_log& run) noexcept;

/// The first epoch after which a run was as good as that.
const run_log::finished_epoch* reached(const run_log& run, double accuracy) noexcept;

/// An accuracy that every run reached: the least of their best ones.
std::optional<double> common_accuracy(std::span<const run_log> runs) noexcept;

/// <tag>inner</tag>, as it is.
std::string element(const char* tag, const std::string& inner);

/// The sign of a colour, in tables.
std::string key(std::size_t colour);

/// What all workers did together whose logs are there.
std::string all_workers(const run_log& run);

/// How good ranks' own models are, beside the mean of all; nothing where they were not measured.
std::string own_models(const evaluation& found, const std::string& said);

/// What a worker sent for its own gradients: of one that serves too its messages alone.
double sent_as_worker(const run_log& run) noexcept;

/// That beside whole gradients, sent the way that this run's went; nothing where it is as much.
std::string beside_whole(const run_log& run);

/// What of the bytes that a rank sent is its own, where it serves too.
std::string own_messages(const run_log& run);

/// One run in the words that somebody would tell it in.
std::string told_alone(const run_log& run);

/// What a run sent beside the one that sent whole gradients.
std::string sent_beside(const run_log& run, const run_log& dense);

/// A run beside the one that sent whole gradients.
std::string told_beside(const run_log& run, const run_log& dense);

/// What runs come to, beside whole gradients, in sentences.
std::string told(std::span<const run_log> runs);

/// One number of a card, and what it is.
std::string number_of_card(const std::string& value, const std::string& what);

/// What a rank that serves too sent, and what of that whole gradients are to be compared with.
std::string served_in_card(const run_log& run);

/// What a worker sent, beside whole gradients.
std::string sent_in_card(const run_log& run);

/// The numbers of one run that everybody asks for.
std::string card(const run_log& run, std::size_t colour);

/// A card for each run.
std::string cards(std::span<const run_log> runs);

/// What it took until every run was equally good; runs of which a part is not known are left out.
std::string equal_accuracy(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_summary.ipp"
#endif
