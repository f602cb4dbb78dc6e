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

/// When a round's rank began to read its batch, by the transport's clock; NaN where nobody tells.
double clock_of(const round_report& round) noexcept;

/// When it began is for others to say.
detail::timed_step timed_step_of(std::int64_t number, const detail::run_costs& costs) noexcept;

}  // namespace sotto

namespace sotto::detail {

/// A tensor, and the bytes that its gradient became in a step: the mean over the steps of the last
/// epoch that is known.
struct run_tensor {
    std::string name;                 // as in the layout
    std::vector<std::int64_t> shape;  // its extents
    std::int64_t size = 0;            // elements
    double message_bytes = 0.0;       // a step

    friend bool operator==(const run_tensor&, const run_tensor&) = default;
};

}  // namespace sotto::detail

namespace sotto {

/// Whether bytes of one are to be compared with those of the other.
bool same_tensors(const std::vector<detail::run_tensor>& a,
                  const std::vector<detail::run_tensor>& b);

}  // namespace sotto

namespace sotto::detail {

/// Some steps in a row. `seconds` and `bytes_sent` are of the whole run up to the last of them.
struct run_point {
    std::int64_t first_step = 0, last_step = 0;             // as the trainer counts
    std::int64_t part = 0;                                  // grows where a run was taken up again
    double seconds = 0.0;                                   // of all steps
    double bytes_sent = 0.0;                                // by this rank
    std::int64_t losses = 0;                                // how many were finite
    double loss_sum = 0.0, loss_min = 0.0, loss_max = 0.0;  // of those
    double dense_bytes = 0.0, message_bytes = 0.0;          // of these steps alone
    consensus_means consensus{};                            // the same

    /// Their mean.
    double loss() const noexcept { return loss_sum / static_cast<double>(losses); }
    friend bool operator==(const run_point&, const run_point&) = default;

    /// Takes the steps after these in.
    void merge(const run_point& next) noexcept;
};

/// A checkpoint that was not written, or another thing that a reader of the run should know.
struct run_diagnostic {
    std::int64_t step = 0;  // as the trainer counts
    std::string text;       // for people
    bool bad = true;        // something is wrong, or missing
};

/// How much predictions changed from a run's model to another.
struct run_churn {
    std::string to;  // the other run's name
    churn found;     // see churn
};

}  // namespace sotto::detail

namespace sotto {

/// One run as data, whichever way it came here: from a log's lines or from the trainer itself.
///
/// Steps are kept as points, of which there are never more than `points_max`: when they are full,
/// neighbours are merged two by two, keeping sums, minima and maxima. So a run of any length takes
/// the same memory, apart from its epochs.
///   cost    a step O(1) on average, without allocation after `reserve`; 4096 points are 0.7 MB.
///           Where there are teachers see run_taught and taught_record
class run_log {
public:
    static constexpr std::size_t points_max = 4096;  // kept at once

    /// What is known before the first step of one `fit`.
    struct start {
        int rank = 0;                     // of the log
        int world_size = 1;               // ranks of the job
        std::int64_t steps_before = 0;    // of all earlier calls of `fit`
        std::int64_t steps_an_epoch = 0;  // rounds of an epoch
        std::int64_t examples = 0;        // in this rank's share
        std::vector<std::pair<std::string, std::string>> options{};  // of the whole run, by name
        std::vector<detail::run_tensor> tensors{};                   // of the model
        std::optional<detail::server_memory> serves{};               // where this rank does
        std::optional<detail::topologies::mixing_graph>
            mixing{};                     // where ranks mix with neighbours
        std::optional<bool> in_step{};    // as run_info has it; not told
        std::string simulated_network{};  // the same
        std::string model{};              // the same
        int model_ranks = 1;              // the same

        /// Those that train the same model as this one.
        int ranks() const noexcept { return model.empty() ? world_size : model_ranks; }
    };

    /// One step, as add takes it.
    struct step {
        std::int64_t number = 0;                                  // as the trainer counts
        double epoch = 0.0;                                       // passes over the data completed
        double seconds = 0.0;                                     // since its `fit` began
        double loss = 0.0;                                        // of its batch
        detail::run_costs costs{};                                // what it cost
        double clock = std::numeric_limits<double>::quiet_NaN();  // as rank_timeline has it
        detail::consensus_report consensus{};                     // how far ranks were apart
        detail::taught_report taught{};                           // what teachers taught
        std::span<const std::int64_t> tensor_message_bytes{};     // of each tensor
    };

    /// One epoch_report, or, without steps, what `fit` found out after the last one. `seconds` and
    /// `bytes_sent` are of the whole run up to its end.
    struct finished_epoch {
        std::int64_t epoch = 0;                 // its number, from 1 on
        std::int64_t step = 0;                  // completed, over all epochs
        std::int64_t steps = 0;                 // that `costs` are the sum of
        bool complete = true;                   // else `fit` ended inside it
        double seconds = 0.0;                   // of all steps
        double bytes_sent = 0.0;                // by this rank
        double loss = 0.0;                      // not finite where training ran away
        std::optional<evaluation> evaluated{};  // where it was measured
        detail::run_costs costs{};              // of its steps
    };

    std::string name;                         // for people
    start about{};                            // of the last `fit`
    std::int64_t fits = 0;                    // calls of it
    std::int64_t interruptions = 0;           // of them, those that another had to go on with
    bool changed_world = false;               // they were not all of as many ranks
    std::vector<detail::run_point> points{};  // in order
    std::vector<finished_epoch> epochs{};     // in order
    std::vector<detail::run_diagnostic> diagnostics{};  // in order
    std::vector<server_report> servers{};               // what each last told, by their ranks
    std::vector<detail::run_churn> churns{};            // that a program found, see append_churn
    std::vector<detail::rank_loss> losses{};  // that this rank knew of when the last `fit` ended
    detail::run_consensus consensus{};        // how far ranks were apart
    detail::run_taught taught{};              // what teachers taught
    detail::rank_timeline timeline{};         // of this rank
    std::vector<detail::rank_timeline> others{};  // of other ranks, see merge_rank_logs
    std::vector<detail::rank_total> ranks{};      // that trained, this one too, see merge_rank_logs
    int trained = 0;                              // ranks that did, see merge_rank_logs; 0: unknown
    std::optional<detail::round_times> typical_round{};  // of the last epoch that tells of one
    detail::run_costs total{};                           // of all steps
    std::int64_t steps = 0;                              // done and paid for, repeated ones too
    std::int64_t last_step = 0;                          // as the trainer counts
    double seconds = 0.0;                                // of all calls of `fit`
    double peak_memory_bytes = 0.0;                      // of the process; 0: unknown
    bool ended = false;                                  // the last `fit` returned
    bool stopped_early = false;                          // a callback asked for that
    std::int64_t tensor_steps = 0;  // over which the tensors' bytes were averaged
    /// Done before or between those that are known here: seconds and costs are without them.
    std::int64_t steps_missing = 0;
    std::int64_t not_finite_from = 0;  // no loss was a finite number since; 0: the last was one

    /// Takes the memory for all points now.
    void reserve();

    /// A call of `fit` begins.
    void begin(start known);

    /// Takes the next step in.
    void add(step s);

    /// `e.seconds` is since its `fit` began; `steps` and `bytes_sent` are filled in here.
    void add(finished_epoch e);

    /// `whole`: what the call of `fit` cost. Some of it no epoch tells of: where training was
    /// stopped, or this rank had no rounds, what went over the wire in the end.
    void end(double seconds_since_begin, bool early,
             const std::optional<evaluation>& evaluated = {}, const detail::run_costs& whole = {});

    /// What a server tells now, in place of what it told before.
    void add(server_report told);

    /// Ranks that train: those that only serve do not, nor, where it is known, who never came.
    int workers() const noexcept;

    /// What ranks put on the wire, as far as `ranks` tells: `mean` and `most` bytes of one, `rank`,
    /// the one that sent most, `known`, the number of them, and alike(), whether the mean stands
    /// for all.
    detail::sent_by_ranks sent() const noexcept { return detail::sent_by(ranks); }

    /// As run_info has it; logs that do not tell are of ranks in step, unless there is a server.
    bool in_step() const noexcept { return about.in_step.value_or(!by_server()); }

    /// Whether times are of a simulated network.
    bool is_simulated() const noexcept { return !about.simulated_network.empty(); }

    /// Whether gradients go to a server.
    bool by_server() const noexcept { return serving_.servers > 0 || !servers.empty(); }

    /// The last evaluation, if there was one.
    const finished_epoch* last_evaluated() const noexcept;

    /// Costs and number of the steps that stand for how the run goes on: the last complete epoch,
    /// after any warm-up; before there is one, all steps so far.
    std::pair<detail::run_costs, std::int64_t> steady() const noexcept;

    /// Lines of the log are missing here, perhaps an epoch's.
    void leave_hole() noexcept { has_hole_ = true; }

private:
    void complete(detail::run_costs& costs) const noexcept;

    /// Another call of `fit`: worth a word unless it does what the last one left to be done.
    void continue_with(const start& known);

    /// The run goes on after a step that is not known here.
    void miss(std::int64_t steps_before);

    void judge(double loss, std::int64_t after) noexcept;

    /// Puts a point behind the others; when there is no room, halves their number first.
    void append(const detail::run_point& point);

    void halve(bool across_parts) noexcept;

    /// What is known of tensors holds until steps tell of them again.
    void keep_bytes_of(const std::vector<detail::run_tensor>& before) noexcept;

    void average(const step& s) noexcept;

    detail::serving_ranks serving_;
    double begun_ = 0.0;           // seconds of the run before this `fit`
    detail::run_costs before_;     // its costs
    detail::run_costs pending_;    // of steps since the last epoch's line
    std::int64_t epoch_from_ = 0;  // steps before the epoch that is under way
    std::int64_t part_ = 0;
    bool told_ = false;      // a step's line came since the last epoch's
    bool has_hole_ = false;  // lines are missing since then
    std::int64_t stride_ = 1;
    std::vector<double> tensor_sums_;
    double tensor_epoch_ = 0.0;
};

/// Seconds of a step that are neither compressing nor waiting, as the run goes on: what `advise`
/// asks for. 0 before there was a step.
double computing_seconds(const run_log& run) noexcept;

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/run_log.ipp"
#endif
