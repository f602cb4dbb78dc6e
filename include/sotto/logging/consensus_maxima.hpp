#pragma once

#include <string>
#include <initializer_list>
#include <span>
#include <vector>

#include "sotto/logging/run_log.hpp"
#include "sotto/strategies/gossip/control/fraction_of_maximum.hpp"

namespace sotto {

/// The distance that a run's ranks had in each phase of training once it had settled, Xi_max of
/// `fraction_of_maximum{.maxima = ...}`. The run is one that measures and does not control, such as
/// `gossip{sgd{}, ring{}, no_control{}, none{}, adapt_then_combine{}, {.measure_every = 1}}`.
///
/// After a decay of the rate ranks still are as far apart as the phase before has left them, and
/// come closer by the graph's second singular value a step; while a run warms up they are driven
/// further apart than it keeps them. An MLP on a ring of 16, rates 0.2, 0.02 and 0.002 for 4 epochs
/// each: the largest distances are 3.8, 2.4 and 0.17, of which the last two are left over, and the
/// second halves of the phases have 2.8, 0.18 and 0.018. Whoever controls one phase after exact
/// means begins it with nothing left over.
///   math    root of the mean of Xi^2, measured exactly, over the steps of the second half of a
///           phase; steps that were done twice count twice. Xi^2 is what stationary gossip has a
///           constant mean of, and what the critical distance is compared with
///   shape   from_epochs: where phases begin, in whole epochs, ascending, the first 0; a phase
///           lasts until the next, the last until the run ends. Where a graph takes longer to
///           settle than half a phase, something is left over: by 1 / (1 - lambda) steps it falls
///           to about a third
///   errors  invalid_option: from_epochs not as said; errc::malformed: a phase in whose second half
///           no step measured, naming run and phase
///   source  Kong et al. 2021, Consensus control for decentralized deep learning, arXiv:2102.04828
std::vector<detail::recorded_maximum> consensus_maxima(const run_log& run,
                                                       std::span<const double> from_epochs);

/// The same of the log that json_lines wrote of a run. Steps that it leaves out, by every_steps,
/// are not seen.
///   errors  and as read_json_lines
std::vector<detail::recorded_maximum> consensus_maxima(const std::string& log,
                                                       std::span<const double> from_epochs);

/// `consensus_maxima("ring.jsonl", {0.0, 150.0, 225.0})`.
std::vector<detail::recorded_maximum> consensus_maxima(const std::string& log,
                                                       std::initializer_list<double> from_epochs);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/consensus_maxima.ipp"
#endif
