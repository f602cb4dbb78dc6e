#pragma once

#include <string>
#include <initializer_list>
#include <span>
#include <vector>

#include "sotto/logging/run_log.hpp"
#include "sotto/strategies/gossip/control/fraction_of_maximum.hpp"

namespace sotto {

/// Returns the distance between a run's ranks in each phase of training after the run settled:
/// Xi_max of `fraction_of_maximum{.maxima = ...}`. The run must measure and not control, such as
/// `gossip{sgd{}, ring{}, no_control{}, none{}, adapt_then_combine{}, {.measure_every = 1}}`.
///
/// Only the second half of a phase counts. After the learning rate decays, the ranks are still as
/// far apart as before. They approach each other by the graph's second singular value a step.
/// During a warm-up the ranks are further apart than later. Example: an MLP on a ring of 16,
/// learning rates 0.2, 0.02 and 0.002 for 4 epochs each. The largest distances are 3.8, 2.4 and
/// 0.17; the last two are left over from the phase before. The second halves have 2.8, 0.18 and
/// 0.018. A phase that follows exact means has nothing left over.
///   math    root of the mean of Xi^2, measured exactly, over the steps of the second half of a
///           phase; repeated steps count twice. Xi^2 has a constant mean under stationary gossip,
///           and the critical distance is compared with it
///   shape   from_epochs: first epoch of each phase, in whole epochs, ascending, the first 0. A
///           phase lasts until the next one, the last until the run ends. If a graph needs longer
///           than half a phase to settle, some distance is left over: it falls to about a third in
///           1 / (1 - lambda) steps
///   errors  invalid_option: from_epochs violates the rules above; errc::malformed: no step
///           measured in the second half of a phase, naming run and phase
///   source  Kong et al. 2021, Consensus control for decentralized deep learning, arXiv:2102.04828
std::vector<detail::recorded_maximum> consensus_maxima(const run_log& run,
                                                       std::span<const double> from_epochs);

/// The same for a log that json_lines wrote. Steps that every_steps leaves out do not count.
///   errors  also those of read_json_lines
std::vector<detail::recorded_maximum> consensus_maxima(const std::string& log,
                                                       std::span<const double> from_epochs);

/// Example: `consensus_maxima("ring.jsonl", {0.0, 150.0, 225.0})`.
std::vector<detail::recorded_maximum> consensus_maxima(const std::string& log,
                                                       std::initializer_list<double> from_epochs);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/consensus_maxima.ipp"
#endif
