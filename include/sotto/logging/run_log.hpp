#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/logging/detail/rank_timeline.hpp"
#include "sotto/logging/detail/round_times.hpp"
#include "sotto/logging/detail/run_consensus.hpp"
#include "sotto/logging/detail/run_costs.hpp"
#include "sotto/logging/detail/run_ranks.hpp"
#include "sotto/logging/detail/run_taught.hpp"
#include "sotto/models/churn.hpp"
#include "sotto/strategies/consensus_report.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/round_report.hpp"
#include "sotto/strategies/server_report.hpp"
#include "sotto/topologies/detail/mixing_graph.hpp"
#include "sotto/trainer/reports.hpp"

namespace sotto {

/// Returns the time when a round's rank began to read its batch, by the transport's clock; NaN if
/// the strategy does not measure it.
double clock_of(const round_report& round) noexcept;

/// Leaves `began` for the caller to set.
detail::timed_step timed_step_of(std::int64_t number, const detail::run_costs& costs) noexcept;

}  // namespace sotto

namespace sotto::detail {

/// A tensor, and the bytes of its encoded gradient in a step: the mean over the steps of the last
/// epoch that is known.
struct run_tensor {
    std::string name;                 // name in the layout
    std::vector<std::int64_t> shape;  // its extents
    std::int64_t size = 0;            // number of elements
    double message_bytes = 0.0;       // per step

    friend bool operator==(const run_tensor&, const run_tensor&) = default;
};

}  // namespace sotto::detail

namespace sotto {

/// True if the bytes of one are comparable with those of the other: same names and shapes.
bool same_tensors(const std::vector<detail::run_tensor>& a,
                  const std::vector<detail::run_tensor>& b);

}  // namespace sotto

namespace sotto::detail {

/// Consecutive steps. `seconds` and `bytes_sent` cover the whole run up to the last of them.
struct run_point {
    std::int64_t first_step = 0, last_step = 0;  // step numbers of the trainer
    std::int64_t part = 0;    // index, grows if a run continues from an earlier step
    double seconds = 0.0;     // total over all steps
    double bytes_sent = 0.0;  // total of this rank
    std::int64_t losses = 0;  // number of finite losses
    double loss_sum = 0.0, loss_min = 0.0, loss_max = 0.0;  // over the finite losses
    double dense_bytes = 0.0, message_bytes = 0.0;          // totals of these steps only
    consensus_means consensus{};                            // of these steps only

    /// Returns their mean.
    double loss() const noexcept { return loss_sum / static_cast<double>(losses); }
    friend bool operator==(const run_point&, const run_point&) = default;

    /// Adds the steps that follow these.
    void merge(const run_point& next) noexcept;
};

/// A failed checkpoint, or another event that a reader of the run should know.
struct run_diagnostic {
    std::int64_t step = 0;  // step number of the trainer
    std::string text;       // description for people
    bool bad = true;        // true: something is wrong or missing
};

/// How much predictions changed from a run's model to another.
struct run_churn {
    std::string to;  // name of the other run
    churn found;     // see churn
};

}  // namespace sotto::detail

namespace sotto {

/// One run as data, from the lines of a log or from the trainer.
///
/// Steps are stored as at most `points_max` points. When these are full, neighbours are merged in
/// pairs, which preserves sums, minima and maxima. So the memory of a run does not grow with its
/// length, except for its epochs.
///   cost    a step O(1) on average, without allocation after `reserve`; 4096 points are 0.7 MB.
///           With teachers see run_taught and taught_record
class run_log {
public:
    static constexpr std::size_t points_max = 4096;  // most points at a time

    /// State before the first step of one `fit`.
    struct start {
        int rank = 0;                     // rank that wrote the log
        int world_size = 1;               // ranks of the job
        std::int64_t steps_before = 0;    // steps of all earlier calls of `fit`
        std::int64_t steps_an_epoch = 0;  // number of rounds in an epoch
        std::int64_t examples = 0;        // number of examples in this rank's share
        std::vector<std::pair<std::string, std::string>> options{};  // of the whole run, by name
        std::vector<detail::run_tensor> tensors{};                   // tensors of the model
        std::optional<detail::server_memory> serves{};               // memory, if this rank serves
        std::optional<detail::topologies::mixing_graph>
            mixing{};                     // graph, if ranks mix with neighbours
        std::optional<bool> in_step{};    // as in run_info; empty: unknown
        std::string simulated_network{};  // as in run_info
        std::string model{};              // as in run_info
        int model_ranks = 1;              // as in run_info

        /// Number of ranks that train the same model as this one.
        int ranks() const noexcept { return model.empty() ? world_size : model_ranks; }
    };

    /// One step, for add.
    struct step {
        std::int64_t number = 0;                                  // step number of the trainer
        double epoch = 0.0;                                       // passes over the data before it
        double seconds = 0.0;                                     // time since its `fit` began
        double loss = 0.0;                                        // mean loss of its batch
        detail::run_costs costs{};                                // costs of the step
        double clock = std::numeric_limits<double>::quiet_NaN();  // as in rank_timeline
        detail::consensus_report consensus{};                     // distances between ranks
        detail::taught_report taught{};                           // teachers of the step
        std::span<const std::int64_t> tensor_message_bytes{};     // bytes by tensor
    };

    /// One epoch_report; or, without steps, the result of `fit` after the last one. `seconds` and
    /// `bytes_sent` cover the whole run up to its end.
    struct finished_epoch {
        std::int64_t epoch = 0;                 // its number, from 1
        std::int64_t step = 0;                  // steps completed, over all epochs
        std::int64_t steps = 0;                 // number of steps in `costs`
        bool complete = true;                   // false: `fit` ended inside it
        double seconds = 0.0;                   // time of all steps
        double bytes_sent = 0.0;                // total of this rank
        double loss = 0.0;                      // not finite if training diverged
        std::optional<evaluation> evaluated{};  // result, if measured
        detail::run_costs costs{};              // costs of its steps
    };

    std::string name;                         // name for people
    start about{};                            // description of the last `fit`
    std::int64_t fits = 0;                    // number of calls of `fit`
    std::int64_t interruptions = 0;           // calls of `fit` that another one had to continue
    bool changed_world = false;               // true: the number of ranks changed
    std::vector<detail::run_point> points{};  // points in order
    std::vector<finished_epoch> epochs{};     // epochs in order
    std::vector<detail::run_diagnostic> diagnostics{};  // diagnostics in order
    std::vector<server_report> servers{};               // last report of each, by rank
    std::vector<detail::run_churn> churns{};  // churns that a program found, see append_churn
    std::vector<detail::rank_loss> losses{};  // losses known to this rank when the last `fit` ended
    detail::run_consensus consensus{};        // distances between ranks
    detail::run_taught taught{};              // effects of teachers
    detail::rank_timeline timeline{};         // steps of this rank
    std::vector<detail::rank_timeline> others{};  // steps of other ranks, see merge_rank_logs
    std::vector<detail::rank_total> ranks{};      // all that trained, see merge_rank_logs
    int trained = 0;                              // number of ranks that trained; 0: unknown
    std::optional<detail::round_times> typical_round{};  // round of the last epoch that has one
    detail::run_costs total{};                           // costs of all steps
    std::int64_t steps = 0;          // steps done and paid for, repeated ones too
    std::int64_t last_step = 0;      // step number of the trainer
    double seconds = 0.0;            // time of all calls of `fit`
    double peak_memory_bytes = 0.0;  // peak of the process; 0: unknown
    bool ended = false;              // true: the last `fit` returned
    bool stopped_early = false;      // true: a callback stopped `fit`
    std::int64_t tensor_steps = 0;   // steps in the mean of the tensors' bytes
    /// Steps that this log does not cover, before or between those it does: seconds and costs
    /// exclude them.
    std::int64_t steps_missing = 0;
    std::int64_t not_finite_from = 0;  // step since which losses are not finite; 0: last was finite

    /// Allocates the memory for all points.
    void reserve();

    /// Begins a call of `fit`.
    void begin(start known);

    /// Adds the next step.
    void add(step s);

    /// Adds an epoch. `e.seconds` is since its `fit` began; add fills in `steps` and `bytes_sent`.
    void add(finished_epoch e);

    /// Ends a call of `fit`. `whole` is its total cost. It includes bytes that no epoch reports:
    /// after an early stop, or on a rank without rounds, those of the end of `fit`.
    void end(double seconds_since_begin, bool early,
             const std::optional<evaluation>& evaluated = {}, const detail::run_costs& whole = {});

    /// Adds a server's report, which replaces its earlier one.
    void add(server_report told);

    /// Number of ranks that train. Excludes ranks that only serve and, if known, ranks that never
    /// joined.
    int workers() const noexcept;

    /// Bytes that ranks sent, over the `ranks` that are known: `mean` and `most` of one rank,
    /// `rank`, the one that sent most, `known`, the number of ranks. alike() is true if the mean
    /// stands for all.
    detail::sent_by_ranks sent() const noexcept { return detail::sent_by(ranks); }

    /// As in run_info. If the log does not have it, ranks are in step unless there is a server.
    bool in_step() const noexcept { return about.in_step.value_or(!by_server()); }

    /// True if times are those of a simulated network.
    bool is_simulated() const noexcept { return !about.simulated_network.empty(); }

    /// True if gradients go to a server.
    bool by_server() const noexcept { return serving_.servers > 0 || !servers.empty(); }

    /// Returns the last epoch with an evaluation, or null.
    const finished_epoch* last_evaluated() const noexcept;

    /// Returns costs and number of the steps that represent how the run continues: the last
    /// complete epoch, after any warm-up; before there is one, all steps so far.
    std::pair<detail::run_costs, std::int64_t> steady() const noexcept;

    /// Marks that lines of the log are missing, perhaps an epoch's.
    void leave_hole() noexcept { has_hole_ = true; }

private:
    void complete(detail::run_costs& costs) const noexcept;

    /// Adds a diagnostic, unless the new call of `fit` continues exactly where the last one
    /// returned.
    void continue_with(const start& known);

    /// Adds a diagnostic: the run continues after a step that this log does not have.
    void miss(std::int64_t steps_before);

    void judge(double loss, std::int64_t after) noexcept;

    /// Appends a point; if there is no room, first halves their number.
    void append(const detail::run_point& point);

    void halve(bool across_parts) noexcept;

    /// Preserves the known bytes of tensors until steps report them again.
    void keep_bytes_of(const std::vector<detail::run_tensor>& before) noexcept;

    void average(const step& s) noexcept;

    detail::serving_ranks serving_;
    double begun_ = 0.0;           // seconds of the run before this `fit`
    detail::run_costs before_;     // costs of the run before this `fit`
    detail::run_costs pending_;    // costs since the last epoch's line
    std::int64_t epoch_from_ = 0;  // steps before the current epoch
    std::int64_t part_ = 0;
    bool told_ = false;      // true: a step's line since the last epoch's
    bool has_hole_ = false;  // true: lines are missing since then
    std::int64_t stride_ = 1;
    std::vector<double> tensor_sums_;
    double tensor_epoch_ = 0.0;
};

/// Returns the seconds of a step except compressing and waiting, as the run continues: the input of
/// `advise`. 0 before the first step.
double computing_seconds(const run_log& run) noexcept;

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/run_log.ipp"
#endif
