#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sotto/consensus/fraction_of_maximum.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/trainer/read_json_lines.hpp"
#include "sotto/trainer/run_log.hpp"

namespace sotto {

/// The largest distance that a run's ranks had in each phase of training, for
/// `fraction_of_maximum{.maxima = ...}`. The run is one that measures, such as
/// `gossip{sgd{}, ring{}, no_control{}, none{}, adapt_then_combine{}, {.measure_every = 1}}`.
///   math    maximum over the steps of a phase of Xi, measured exactly; steps that were done twice
///           count twice
///   shape   from_epochs: where phases begin, in whole epochs, ascending, the first 0; a phase
///           lasts until the next, the last until the run ends
///   errors  invalid_option: from_epochs not as said; errc::malformed: a phase in which no step
///           measured, naming run and phase
///   source  Kong et al. 2021, Consensus control for decentralized deep learning, arXiv:2102.04828
inline std::vector<recorded_maximum> consensus_maxima(const run_log& run,
                                                      std::span<const double> from_epochs) {
    if (from_epochs.empty() || from_epochs.front() != 0.0)
        throw invalid_option("consensus_maxima: from_epochs has no phase that begins at epoch 0");
    for (std::size_t i = 0; i < from_epochs.size(); ++i)
        if (!(from_epochs[i] == std::floor(from_epochs[i])) || !std::isfinite(from_epochs[i]) ||
            (i > 0 && !(from_epochs[i - 1] < from_epochs[i])))
            throw invalid_option("consensus_maxima: phase " + std::to_string(i) +
                                 " begins at epoch " + std::to_string(from_epochs[i]) +
                                 "; phases begin at whole epochs and ascend");
    std::vector<recorded_maximum> maxima;
    for (std::size_t i = 0; i < from_epochs.size(); ++i) {
        const double from = from_epochs[i], to = i + 1 < from_epochs.size()
                                                     ? from_epochs[i + 1]
                                                     : std::numeric_limits<double>::infinity();
        recorded_maximum found{from, -1.0};
        for (const epoch_distance& e : run.consensus.epochs) {
            const auto epoch = static_cast<double>(e.epoch);
            if (epoch >= from && epoch < to && e.largest > found.distance)
                found.distance = e.largest;
        }
        if (found.distance < 0.0)
            throw error(errc::malformed,
                        "consensus_maxima: run '" + run.name +
                            "' has no distance that was measured exactly from epoch " +
                            std::to_string(static_cast<std::int64_t>(from)) + " on" +
                            (std::isfinite(to)
                                 ? ", before epoch " + std::to_string(static_cast<std::int64_t>(to))
                                 : std::string()) +
                            "; expected a log of gossip with gossip_options{.measure_every = 1}");
        maxima.push_back(found);
    }
    return maxima;
}

/// The same of the log that json_lines wrote of a run. Steps that it leaves out, by every_steps,
/// are not seen.
///   errors  and as read_json_lines
inline std::vector<recorded_maximum> consensus_maxima(const std::filesystem::path& log,
                                                      std::span<const double> from_epochs) {
    return consensus_maxima(read_json_lines(log), from_epochs);
}

/// `consensus_maxima("ring.jsonl", {0.0, 150.0, 225.0})`.
inline std::vector<recorded_maximum> consensus_maxima(const std::filesystem::path& log,
                                                      std::initializer_list<double> from_epochs) {
    return consensus_maxima(log, std::span(from_epochs.begin(), from_epochs.size()));
}

}  // namespace sotto
