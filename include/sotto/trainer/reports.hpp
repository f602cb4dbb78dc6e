#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/round_report.hpp"
#include "sotto/strategies/server_report.hpp"
#include "sotto/topologies/detail/mixing_graph.hpp"

namespace sotto::detail {

/// Minimum, mean and maximum over the ranks.
struct over_ranks {
    double least = 0.0, mean = 0.0, most = 0.0;  // over all ranks

    friend bool operator==(const over_ranks&, const over_ranks&) = default;
};

/// Evaluations of the ranks' own models, as in `evaluation`.
struct own_evaluations {
    over_ranks loss{}, accuracy{};  // see evaluation

    friend bool operator==(const own_evaluations&, const own_evaluations&) = default;
};

}  // namespace sotto::detail

namespace sotto {

/// Quality of a model on some examples.
struct evaluation {
    double loss = 0.0;      // mean over the examples: the model's own loss, else the cross-entropy
    double accuracy = 0.0;  // share of labels that have the largest logit; NaN without labels
    std::int64_t examples = 0;  // number of examples
    std::optional<detail::own_evaluations>
        own{};  // if ranks' models differ and evaluate_on asks for it
};

/// State before the first step.
struct run_info {
    int rank = 0;        // number of this rank
    int world_size = 1;  // ranks of the job
    /// Steps before the first one of this call: those of an earlier process of this rank that
    /// servers have, or those of the neighbour whose parameters this rank received.
    std::int64_t steps_at_servers = 0;
    std::int64_t epochs = 0;          // most epochs of this call
    std::int64_t steps_max = 0;       // most steps; the largest number if only epochs bound the run
    std::int64_t examples = 0;        // number in this rank's share of the data
    std::int64_t steps_an_epoch = 0;  // rounds of an epoch
    std::int64_t epochs_before = 0;   // epochs completed in earlier calls of fit
    std::int64_t rounds_before = 0;   // steps done of the epoch that the last call left incomplete
    std::int64_t steps_before = 0;    // steps of all epochs
    bool resumed = false;             // true: an earlier process began this call of fit, or
                                      // the other ranks did and are past it
    int world_size_before = 0;        // ranks of that process; 0: none
    bool over = false;                // true: resumed, and nothing is left to do
    bool begins_anew = false;         // true: the partial epoch had other data, a new one begins
    const layout* parameters = nullptr;             // parameters of the model
    std::string description{};                      // options of the run, one per line
    std::optional<detail::server_memory> serves{};  // bytes that the server on this rank takes
    std::optional<detail::topologies::mixing_graph> mixing{};  // if ranks mix with neighbours
    bool servers_forget = false;  // true: a failed server restarts from nothing
    /// True: ranks do the same rounds, and an epoch's loss and evaluation cover all ranks. False:
    /// they cover this rank.
    bool in_step = true;
    std::string simulated_network{};  // its parameters; empty: a real network, with measured times
    /// Name of the model that this rank trains, if the job trains several; empty: one model on all
    /// ranks.
    std::string model{};
    int model_rank = 0;   // index of this rank in its model, from 0
    int model_ranks = 1;  // number of ranks that train this model

    /// Number of ranks that train the same model as this one.
    int ranks() const noexcept { return model.empty() ? world_size : model_ranks; }
    /// True on the first of these ranks, which writes the model's log.
    bool leads() const noexcept { return (model.empty() ? rank : model_rank) == 0; }
};

/// One step of this rank.
struct step_report {
    std::int64_t step = 0;  // number, from 1 over all epochs
    double epoch = 0.0;     // passes over the data completed, with their fraction
    double seconds = 0.0;   // time since `fit` began
    round_report round{};   // costs of the step
};

/// One pass over the data, or the part of it in one call of `fit`. Times and bytes are this rank's.
/// Loss and evaluation cover all ranks if they train in step (run_info::in_step), else this rank.
struct epoch_report {
    std::int64_t epoch = 0;     // number, from 1
    bool complete = true;       // false: `fit` ended inside it; the next call reports it again
    std::int64_t step = 0;      // steps completed, over all epochs
    double seconds = 0.0;       // time since `fit` began
    double loss = 0.0;          // mean over `examples`, at the time of training
    std::int64_t examples = 0;  // examples of the loss, with those of earlier calls of `fit`
    std::optional<evaluation> evaluated{};  // result, if evaluated
    round_report total{};  // costs of the epoch's rounds in this call, and of the end of `fit`
    const server_report* served = nullptr;  // if this rank serves; valid during the call
};

/// A checkpoint after a step, written or failed.
struct checkpoint_report {
    std::int64_t step = 0;   // steps completed, over all epochs
    double seconds = 0.0;    // time since `fit` began
    std::string path{};      // path of the file
    std::string failure{};   // reason of the failure; empty: written
    double took = 0.0;       // seconds, during which all ranks waited
    std::int64_t bytes = 0;  // size of the file; 0 if there is none
};

/// Result of one call of `fit` on this rank.
struct fit_report {
    std::int64_t epochs = 0;                                 // epochs that it completed
    std::int64_t steps = 0;                                  // steps that it did
    std::int64_t step = 0;                                   // steps completed, over all calls
    double seconds = 0.0;                                    // duration
    bool stopped_early = false;                              // true: a callback stopped it
    double loss = std::numeric_limits<double>::quiet_NaN();  // of the last epoch_report
    std::optional<evaluation> evaluated{};                   // evaluation after the last epoch
    round_report total{};                                    // total costs of its rounds
    std::int64_t checkpoints = 0;                            // number written
    std::int64_t checkpoints_failed = 0;                     // number that failed
    std::string checkpoint_failure{};                        // reason of the last failure
    std::optional<server_report> served{};                   // if this rank serves
    std::vector<detail::rank_loss> losses{};  // ranks lost while others trained, over all calls
    /// Incomplete outputs, a sentence each: a log with missing lines, or a report or last
    /// checkpoint that could not be written. The learnt parameters are not affected.
    std::vector<std::string> incomplete{};
};

}  // namespace sotto

namespace sotto::detail {
/// Appends a sentence, unless it is empty.
void add_sentence(std::vector<std::string>& to, std::string sentence);
}  // namespace sotto::detail

namespace sotto {

/// Throws if training is done but an output is incomplete. The sentences are those of
/// fit_report::incomplete, possibly of several calls of `fit`.
///   errors  output_incomplete, which names the first output, what is missing, and the number of
///           other outputs; exit_code_of it is exit_code::output_incomplete
void require_complete_output(std::span<const std::string> incomplete);

/// The same for one call of `fit`.
void require_complete_output(const fit_report& report);

/// Adds examples and costs.
void accumulate_costs(round_report& total, const round_report& part) noexcept;

/// Adds two means, each weighted by its examples, and their costs.
void accumulate(round_report& total, const round_report& part) noexcept;

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/reports.ipp"
#endif
