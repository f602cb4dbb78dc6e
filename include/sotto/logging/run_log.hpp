#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/models/churn.hpp"
#include "sotto/strategies/consensus_report.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/round_report.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/server_report.hpp"
#include "sotto/topologies/detail/mixing_graph.hpp"
#include "sotto/logging/detail/rank_timeline.hpp"
#include "sotto/trainer/reports.hpp"
#include "sotto/logging/detail/round_times.hpp"
#include "sotto/logging/detail/run_consensus.hpp"
#include "sotto/logging/detail/run_costs.hpp"
#include "sotto/logging/detail/run_ranks.hpp"
#include "sotto/logging/detail/run_taught.hpp"

namespace sotto {

/// When a round's rank began to read its batch, by the transport's clock; NaN where nobody tells.
inline double clock_of(const round_report& round) noexcept {
    if (round.ended == duration::zero()) return std::numeric_limits<double>::quiet_NaN();
    return in_seconds((round.began - round.load).time_since_epoch());
}

/// When it began is for others to say.
inline detail::timed_step timed_step_of(std::int64_t number,
                                        const detail::run_costs& costs) noexcept {
    return {.number = number,
            .load = costs.load,
            .compute = costs.compute,
            .compress = costs.compress,
            .wait = costs.wait,
            .apply = costs.apply,
            .bytes_sent = costs.bytes_sent};
}

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
inline bool same_tensors(const std::vector<detail::run_tensor>& a,
                         const std::vector<detail::run_tensor>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const detail::run_tensor& s, const detail::run_tensor& t) {
                          return s.name == t.name && s.shape == t.shape;
                      });
}

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
    void merge(const run_point& next) noexcept {
        if (next.losses > 0) {
            loss_min = losses > 0 ? (std::min)(loss_min, next.loss_min) : next.loss_min;
            loss_max = losses > 0 ? (std::max)(loss_max, next.loss_max) : next.loss_max;
        }
        losses += next.losses;
        loss_sum += next.loss_sum;
        dense_bytes += next.dense_bytes;
        message_bytes += next.message_bytes;
        consensus.merge(next.consensus);
        last_step = next.last_step;
        seconds = next.seconds;
        bytes_sent = next.bytes_sent;
    }
};

/// A checkpoint that was not written, or another thing that a reader of the run should know.
struct run_remark {
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

    std::string name;                           // for people
    start about{};                              // of the last `fit`
    std::int64_t fits = 0;                      // calls of it
    std::int64_t interruptions = 0;             // of them, those that another had to go on with
    bool changed_world = false;                 // they were not all of as many ranks
    std::vector<detail::run_point> points{};    // in order
    std::vector<finished_epoch> epochs{};       // in order
    std::vector<detail::run_remark> remarks{};  // in order
    std::vector<server_report> servers{};       // what each last told, by their ranks
    std::vector<detail::run_churn> churns{};    // that a program found, see append_churn
    std::vector<detail::rank_loss> losses{};    // that this rank knew of when the last `fit` ended
    detail::run_consensus consensus{};          // how far ranks were apart
    detail::run_taught taught{};                // what teachers taught
    detail::rank_timeline timeline{};           // of this rank
    std::vector<detail::rank_timeline> others{};  // of other ranks, see joined_ranks
    std::vector<detail::rank_total> ranks{};      // that trained, this one too, see joined_ranks
    int trained = 0;                              // ranks that did, see joined_ranks; 0: unknown
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
    void reserve() {
        points.reserve(points_max);
        consensus.reserve();
        timeline.reserve();
    }

    /// A call of `fit` begins.
    void begin(start known) {
        if (fits > 0) go_on(known);
        if (known.steps_before > last_step) miss(known.steps_before);
        if (not_finite_from > known.steps_before) not_finite_from = 0;
        const std::vector<detail::run_tensor> before =
            std::exchange(about, std::move(known)).tensors;
        tensor_sums_.assign(about.tensors.size(), 0.0);
        tensor_epoch_ = -1.0;  // the next step's begins anew
        consensus.begin(about.tensors.size());
        keep_bytes_of(before);
        timeline.begin(about.rank);
        serving_ = {};
        for (const auto& [option, value] : about.options) serving_.read(option, value);
        begun_ = seconds;
        before_ = total;
        pending_ = {};                                // paid for, though no epoch tells of it
        if (about.steps_before < last_step) ++part_;  // taken up again at an earlier state
        last_step = epoch_from_ = about.steps_before;
        ended = stopped_early = told_ = has_hole_ = false;
        ++fits;
    }

    /// Takes the next step in.
    void add(step s) {
        complete(s.costs);
        // A log may leave steps out: one that is there stands for those before it.
        const std::int64_t stands_for = std::max<std::int64_t>(s.number - last_step, 1);
        const auto times = static_cast<double>(stands_for);
        seconds = begun_ + s.seconds;
        pending_.add(s.costs, times);
        total.add(s.costs, times);
        timeline.add(timed_step_of(s.number, s.costs), s.seconds, s.clock);
        steps += stands_for;
        detail::run_point point{.first_step = last_step + 1,
                                .last_step = s.number,
                                .part = part_,
                                .seconds = seconds,
                                .bytes_sent = total.bytes_sent,
                                .dense_bytes = times * s.costs.dense_bytes,
                                .message_bytes = times * s.costs.message_bytes};
        if (detail::is_finite(s.loss)) {
            point.losses = 1;
            point.loss_sum = point.loss_min = point.loss_max = s.loss;
        }
        point.consensus.add(s.consensus);
        consensus.add(s.epoch, s.consensus, times);
        judge(s.loss, s.number);
        told_ = true;
        last_step = s.number;
        append(point);
        taught.add(s.number, s.taught, stands_for, points.size(), points_max);
        average(s);
    }

    /// `e.seconds` is since its `fit` began; `steps` and `bytes_sent` are filled in here.
    void add(finished_epoch e) {
        complete(e.costs);
        // The epoch's own sum replaces what its steps, some perhaps left out, added up to; but not
        // where the line of an epoch before it is missing, of which there are steps, too.
        const bool of_several =
            std::exchange(has_hole_, false) && pending_.examples > e.costs.examples;
        if (!of_several) {
            total.add(pending_, -1.0);
            total.add(e.costs);
        }
        pending_ = {};
        if (!std::exchange(told_, false)) judge(e.loss, e.step);
        if (e.step > last_step) {  // steps that no line told of
            steps += e.step - last_step;
            last_step = e.step;
        }
        seconds = begun_ + e.seconds;
        e.seconds = seconds;
        e.steps = e.step - std::exchange(epoch_from_, e.step);
        e.bytes_sent = total.bytes_sent;
        epochs.push_back(std::move(e));
        consensus.end_epoch();
    }

    /// `whole`: what the call of `fit` cost. Some of it no epoch tells of: where training was
    /// stopped, or this rank had no rounds, what went over the wire in the end.
    void end(double seconds_since_begin, bool early,
             const std::optional<evaluation>& evaluated = {}, const detail::run_costs& whole = {}) {
        seconds = begun_ + seconds_since_begin;
        ended = true;
        stopped_early = early;
        for (const auto size : {&detail::run_costs::message_bytes, &detail::run_costs::bytes_sent,
                                &detail::run_costs::bytes_received})
            total.*size = (std::max)(total.*size, before_.*size + whole.*size);
        if (!evaluated) return;
        // Most often the last epoch's own. Where training was stopped, or had nothing left to do,
        // the model was measured after its report.
        if (epochs.empty() || epochs.back().step != last_step)
            epochs.push_back({.epoch = epochs.empty() ? 0 : epochs.back().epoch,
                              .step = last_step,
                              .seconds = seconds,
                              .bytes_sent = total.bytes_sent,
                              .loss = std::numeric_limits<double>::quiet_NaN()});
        if (!epochs.back().evaluated) epochs.back().evaluated = evaluated;
    }

    /// What a server tells now, in place of what it told before.
    void add(server_report told) {
        const auto at =
            std::lower_bound(servers.begin(), servers.end(), told.rank,
                             [](const server_report& s, int rank) { return s.rank < rank; });
        if (at != servers.end() && at->rank == told.rank)
            *at = std::move(told);
        else
            servers.insert(at, std::move(told));
    }

    /// Ranks that train: those that only serve do not, nor, where it is known, who never came.
    int workers() const noexcept {
        if (trained > 0) return trained;
        if (servers.empty()) return (std::max)(about.ranks() - serving_.alone(), 1);
        const auto& told = servers.front().workers;
        const auto came = std::count_if(
            told.begin(), told.end(), [](const detail::served_worker& w) { return w.rounds > 0; });
        return static_cast<int>(came > 0 ? came : std::ssize(told));
    }

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
    const finished_epoch* last_evaluated() const noexcept {
        for (auto e = epochs.rbegin(); e != epochs.rend(); ++e)
            if (e->evaluated) return &*e;
        return nullptr;
    }

    /// Costs and number of the steps that stand for how the run goes on: the last complete epoch,
    /// after any warm-up; before there is one, all steps so far.
    std::pair<detail::run_costs, std::int64_t> steady() const noexcept {
        for (auto e = epochs.rbegin(); e != epochs.rend(); ++e)
            if (e->complete && e->steps > 0) return {e->costs, e->steps};
        return {total, steps};
    }

    /// Lines of the log are missing here, perhaps an epoch's.
    void leave_hole() noexcept { has_hole_ = true; }

private:
    void complete(detail::run_costs& costs) const noexcept {
        const double n = (std::max)(about.ranks() - serving_.alone(), 1);
        costs.examples_of_all = n * costs.examples;
        costs.ring_bytes =
            by_server() ? costs.dense_bytes : 2.0 * (n - 1.0) / n * costs.dense_bytes;
    }

    /// Another call of `fit`: worth a word unless it does what the last one left to be done.
    void go_on(const start& known) {
        const std::int64_t again = std::max<std::int64_t>(last_step - known.steps_before, 0);
        const bool other_world = known.ranks() != about.ranks();
        if (!ended) ++interruptions;
        changed_world |= other_world;
        if (ended && again == 0 && !other_world) return;
        std::string text = ended ? "went on" : "was interrupted, and went on";
        text += " after step " + std::to_string(known.steps_before);
        if (again > 0)
            text +=
                ", " + std::to_string(again) + (again == 1 ? " step" : " steps") + " done twice";
        if (other_world)
            text += ", with " + std::to_string(known.ranks()) +
                    (known.ranks() == 1 ? " worker" : " workers") + " instead of " +
                    std::to_string(about.ranks());
        remarks.push_back({last_step, std::move(text), false});
    }

    /// The run goes on after a step that is not known here.
    void miss(std::int64_t steps_before) {
        const std::int64_t missing = steps_before - last_step;
        steps_missing += missing;
        remarks.push_back({last_step, (last_step == 0 ? "the first " : "the next ") +
                                          std::to_string(missing) +
                                          (missing == 1 ? " step is" : " steps are") +
                                          " not in this log; seconds and bytes are without them"});
    }

    void judge(double loss, std::int64_t after) noexcept {
        if (detail::is_finite(loss))
            not_finite_from = 0;
        else if (not_finite_from == 0)
            not_finite_from = after;
    }

    /// Puts a point behind the others; when there is no room, halves their number first.
    void append(const detail::run_point& point) {
        if (!points.empty()) {
            detail::run_point& last = points.back();
            if (last.part == point.part && last.last_step - last.first_step + 1 < stride_)
                return last.merge(point);
        }
        if (points.size() == points_max) {
            halve(false);
            // Taken up again after every single step, a run has no neighbours of one part.
            if (points.size() == points_max) halve(true);
            stride_ *= 2;
        }
        points.push_back(point);
    }

    void halve(bool across_parts) noexcept {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < points.size();) {
            const std::size_t first = i;
            detail::run_point merged = points[i++];
            if (i < points.size() && (across_parts || points[i].part == merged.part))
                merged.merge(points[i++]);
            taught.put_together(kept, first, i);
            points[kept++] = merged;
        }
        points.resize(kept);
        taught.shorten(kept);
    }

    /// What is known of tensors holds until steps tell of them again.
    void keep_bytes_of(const std::vector<detail::run_tensor>& before) noexcept {
        if (!same_tensors(before, about.tensors)) {
            tensor_steps = 0;
            typical_round.reset();
            return;
        }
        for (std::size_t t = 0; t < before.size(); ++t)
            about.tensors[t].message_bytes = before[t].message_bytes;
    }

    void average(const step& s) noexcept {
        if (s.tensor_message_bytes.size() != tensor_sums_.size()) return;
        const double epoch = std::floor(s.epoch);
        if (epoch != tensor_epoch_ || tensor_steps == 0) {
            std::fill(tensor_sums_.begin(), tensor_sums_.end(), 0.0);
            tensor_steps = 0;
            tensor_epoch_ = epoch;
        }
        ++tensor_steps;
        for (std::size_t t = 0; t < tensor_sums_.size(); ++t) {
            tensor_sums_[t] += static_cast<double>(s.tensor_message_bytes[t]);
            about.tensors[t].message_bytes = tensor_sums_[t] / static_cast<double>(tensor_steps);
        }
    }

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
inline double computing_seconds(const run_log& run) noexcept {
    const auto [costs, steps] = run.steady();
    return (costs.load + costs.compute + costs.apply) /
           static_cast<double>(std::max<std::int64_t>(steps, 1));
}

}  // namespace sotto
