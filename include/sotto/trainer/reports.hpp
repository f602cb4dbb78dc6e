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

/// The least, the mean and the most that ranks have.
struct over_ranks {
    double least = 0.0, mean = 0.0, most = 0.0;  // of all ranks

    friend bool operator==(const over_ranks&, const over_ranks&) = default;
};

/// How good ranks' own models are on some examples, as `evaluation` has it.
struct own_evaluations {
    over_ranks loss{}, accuracy{};  // see evaluation

    friend bool operator==(const own_evaluations&, const own_evaluations&) = default;
};

}  // namespace sotto::detail

namespace sotto {

/// How good a model is on some examples.
struct evaluation {
    double loss = 0.0;      // mean over the examples: the model's own loss, else the cross-entropy
    double accuracy = 0.0;  // share whose largest logit is the label; NaN where there are no labels
    std::int64_t examples = 0;  // that it is of
    std::optional<detail::own_evaluations>
        own{};  // where ranks' models differ and evaluate_on asks for it
};

/// Known before the first step.
struct run_info {
    int rank = 0;        // this one
    int world_size = 1;  // ranks of the job
    /// Steps of an earlier process of this rank that servers have, or of the neighbour whose
    /// parameters it took: they come before the first one.
    std::int64_t steps_at_servers = 0;
    std::int64_t epochs = 0;          // at most
    std::int64_t steps_max = 0;       // at most; the largest number where only epochs bound the run
    std::int64_t examples = 0;        // in this rank's share of the data
    std::int64_t steps_an_epoch = 0;  // rounds of an epoch
    std::int64_t epochs_before = 0;   // completed in earlier calls of fit
    std::int64_t rounds_before = 0;   // steps of the epoch that the last call left in the middle
    std::int64_t steps_before = 0;    // of all epochs
    bool resumed = false;       // this call of fit was begun before, by an earlier process or,
                                // where ranks come and go, by the others, who are past it
    int world_size_before = 0;  // ranks of that process; 0: there was none
    bool over = false;          // and all of it was done
    bool begins_anew = false;   // the epoch that was under way: its data are not these
    const layout* parameters = nullptr;  // of the model
    std::string description{};           // every option of the run, a line each
    std::optional<detail::server_memory>
        serves{};  // bytes that it takes that this rank serves others
    std::optional<detail::topologies::mixing_graph> mixing{};  // where ranks mix with neighbours
    bool servers_forget = false;  // one that fails begins anew: nothing of it is saved
    /// Ranks do the same rounds, and an epoch's loss and evaluation are of all; else each goes its
    /// own way, and they are this rank's.
    bool in_step = true;
    std::string simulated_network{};  // its figures; empty: times are measured, of a real one
    /// Where several models are trained at once, what the one is called that this rank trains,
    /// which of its ranks this is, and how many it has; empty: there is one model, of all ranks.
    std::string model{};
    int model_rank = 0;   // from 0 on
    int model_ranks = 1;  // that train this model

    /// Ranks that train the same model as this one.
    int ranks() const noexcept { return model.empty() ? world_size : model_ranks; }
    /// Whether this is the first of them: who writes the model's log.
    bool leads() const noexcept { return (model.empty() ? rank : model_rank) == 0; }
};

/// One step of this rank.
struct step_report {
    std::int64_t step = 0;  // counted from 1 over all epochs
    double epoch = 0.0;     // passes over the data completed, with their fraction
    double seconds = 0.0;   // since `fit` began
    round_report round{};   // what it cost
};

/// One pass over the data, or what one call of `fit` did of it. Times and bytes are this rank's;
/// loss and evaluation are everybody's where ranks train in step (run_info::in_step), else this
/// rank's, too.
struct epoch_report {
    std::int64_t epoch = 0;     // counted from 1
    bool complete = true;       // false: `fit` ended inside it; the next call reports it again
    std::int64_t step = 0;      // completed, over all epochs
    double seconds = 0.0;       // since `fit` began
    double loss = 0.0;          // mean over `examples`, while they were learnt
    std::int64_t examples = 0;  // whose loss it is, by earlier calls of `fit` too
    std::optional<evaluation> evaluated{};  // if it was
    round_report total{};  // of the epoch's rounds in this call, and of how the last one ended
    const server_report* served = nullptr;  // where this rank serves: valid in the call alone
};

/// A checkpoint that was written after a step, or was not.
struct checkpoint_report {
    std::int64_t step = 0;   // completed, over all epochs
    double seconds = 0.0;    // since `fit` began
    std::string path{};      // of its file
    std::string failure{};   // why it was not; empty: it was
    double took = 0.0;       // seconds, of all ranks' time
    std::int64_t bytes = 0;  // of the file; 0 where there is none
};

/// What one call of `fit` did on this rank.
struct fit_report {
    std::int64_t epochs = 0;                                 // completed by it
    std::int64_t steps = 0;                                  // of it
    std::int64_t step = 0;                                   // completed, over all calls
    double seconds = 0.0;                                    // that it took
    bool stopped_early = false;                              // a callback asked for that
    double loss = std::numeric_limits<double>::quiet_NaN();  // of the last epoch_report, if any
    std::optional<evaluation> evaluated{};                   // after the last epoch
    round_report total{};                                    // what its rounds cost, together
    std::int64_t checkpoints = 0;                            // written
    std::int64_t checkpoints_failed = 0;                     // not written
    std::string checkpoint_failure{};         // why the last of these was not written
    std::optional<server_report> served{};    // where this rank serves
    std::vector<detail::rank_loss> losses{};  // while others trained on, by all calls
    /// Output that was asked for and lacks something, a sentence each: a log with lines left out, a
    /// report or the last checkpoint that was not written. What was learnt is not affected.
    std::vector<std::string> incomplete{};
};

}  // namespace sotto

namespace sotto::detail {
/// An empty one is none.
void add_sentence(std::vector<std::string>& to, std::string sentence);
}  // namespace sotto::detail

namespace sotto {

/// Ends a program whose training is done, but whose output is not complete. The sentences are those
/// of fit_report::incomplete, perhaps of several calls of `fit`.
///   errors  output_incomplete, which names the first output, what it lacks and how many more there
///           are; exit_code_of it is exit_code::output_incomplete
void require_complete_output(std::span<const std::string> incomplete);

/// The same for one call of `fit`.
void require_complete_output(const fit_report& report);

/// Adds up what was done and what it cost.
void accumulate_costs(round_report& total, const round_report& part) noexcept;

/// Adds two means, each weighed by its examples, and what they cost.
void accumulate(round_report& total, const round_report& part) noexcept;

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/reports.ipp"
#endif
