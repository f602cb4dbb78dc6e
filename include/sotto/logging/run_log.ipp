#pragma once

#include "sotto/logging/run_log.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"

namespace sotto {

SOTTO_DECL double clock_of(const round_report& round) noexcept {
    if (round.ended == duration::zero()) return std::numeric_limits<double>::quiet_NaN();
    return in_seconds((round.began - round.load).time_since_epoch());
}

SOTTO_DECL detail::timed_step timed_step_of(std::int64_t number,
                                            const detail::run_costs& costs) noexcept {
    return {.number = number,
            .load = costs.load,
            .compute = costs.compute,
            .compress = costs.compress,
            .wait = costs.wait,
            .apply = costs.apply,
            .bytes_sent = costs.bytes_sent};
}

SOTTO_DECL bool same_tensors(const std::vector<detail::run_tensor>& a,
                             const std::vector<detail::run_tensor>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const detail::run_tensor& s, const detail::run_tensor& t) {
                          return s.name == t.name && s.shape == t.shape;
                      });
}

}  // namespace sotto

namespace sotto::detail {

SOTTO_DECL void run_point::merge(const run_point& next) noexcept {
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

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL void run_log::reserve() {
    points.reserve(points_max);
    consensus.reserve();
    timeline.reserve();
}

SOTTO_DECL void run_log::begin(start known) {
    if (fits > 0) continue_with(known);
    if (known.steps_before > last_step) miss(known.steps_before);
    if (not_finite_from > known.steps_before) not_finite_from = 0;
    const std::vector<detail::run_tensor> before = std::exchange(about, std::move(known)).tensors;
    tensor_sums_.assign(about.tensors.size(), 0.0);
    tensor_epoch_ = -1.0;  // the next step begins a new mean
    consensus.begin(about.tensors.size());
    keep_bytes_of(before);
    timeline.begin(about.rank);
    serving_ = {};
    for (const auto& [option, value] : about.options) serving_.read(option, value);
    begun_ = seconds;
    before_ = total;
    pending_ = {};  // no epoch reports these steps, but they were paid for
    if (about.steps_before < last_step) ++part_;  // the run continues from an earlier state
    last_step = epoch_from_ = about.steps_before;
    ended = stopped_early = told_ = has_hole_ = false;
    ++fits;
}

SOTTO_DECL void run_log::add(step s) {
    complete(s.costs);
    // A log may skip steps: each logged step also represents the skipped ones before it.
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

SOTTO_DECL void run_log::add(finished_epoch e) {
    complete(e.costs);
    // The epoch's own sum replaces the sum of its steps, because the log may skip some. If the line
    // of an earlier epoch is missing, pending_ covers that epoch too and stays.
    const bool of_several = std::exchange(has_hole_, false) && pending_.examples > e.costs.examples;
    if (!of_several) {
        total.add(pending_, -1.0);
        total.add(e.costs);
    }
    pending_ = {};
    if (!std::exchange(told_, false)) judge(e.loss, e.step);
    if (e.step > last_step) {  // steps without a line
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

SOTTO_DECL void run_log::end(double seconds_since_begin, bool early,
                             const std::optional<evaluation>& evaluated,
                             const detail::run_costs& whole) {
    seconds = begun_ + seconds_since_begin;
    ended = true;
    stopped_early = early;
    for (const auto size : {&detail::run_costs::message_bytes, &detail::run_costs::bytes_sent,
                            &detail::run_costs::bytes_received})
        total.*size = (std::max)(total.*size, before_.*size + whole.*size);
    if (!evaluated) return;
    // Usually the last epoch has this evaluation. If training stopped early or had nothing left to
    // do, the evaluation follows the epoch's report.
    if (epochs.empty() || epochs.back().step != last_step)
        epochs.push_back({.epoch = epochs.empty() ? 0 : epochs.back().epoch,
                          .step = last_step,
                          .seconds = seconds,
                          .bytes_sent = total.bytes_sent,
                          .loss = std::numeric_limits<double>::quiet_NaN()});
    if (!epochs.back().evaluated) epochs.back().evaluated = evaluated;
}

SOTTO_DECL void run_log::add(server_report told) {
    const auto at =
        std::lower_bound(servers.begin(), servers.end(), told.rank,
                         [](const server_report& s, int rank) { return s.rank < rank; });
    if (at != servers.end() && at->rank == told.rank)
        *at = std::move(told);
    else
        servers.insert(at, std::move(told));
}

SOTTO_DECL int run_log::workers() const noexcept {
    if (trained > 0) return trained;
    if (servers.empty()) return (std::max)(about.ranks() - serving_.alone(), 1);
    const auto& told = servers.front().workers;
    const auto came = std::count_if(told.begin(), told.end(),
                                    [](const detail::served_worker& w) { return w.rounds > 0; });
    return static_cast<int>(came > 0 ? came : std::ssize(told));
}

SOTTO_DECL const run_log::finished_epoch* run_log::last_evaluated() const noexcept {
    for (auto e = epochs.rbegin(); e != epochs.rend(); ++e)
        if (e->evaluated) return &*e;
    return nullptr;
}

SOTTO_DECL std::pair<detail::run_costs, std::int64_t> run_log::steady() const noexcept {
    for (auto e = epochs.rbegin(); e != epochs.rend(); ++e)
        if (e->complete && e->steps > 0) return {e->costs, e->steps};
    return {total, steps};
}

SOTTO_DECL void run_log::complete(detail::run_costs& costs) const noexcept {
    const double n = (std::max)(about.ranks() - serving_.alone(), 1);
    costs.examples_of_all = n * costs.examples;
    costs.ring_bytes = by_server() ? costs.dense_bytes : 2.0 * (n - 1.0) / n * costs.dense_bytes;
}

SOTTO_DECL void run_log::continue_with(const start& known) {
    const std::int64_t again = std::max<std::int64_t>(last_step - known.steps_before, 0);
    const bool other_world = known.ranks() != about.ranks();
    if (!ended) ++interruptions;
    changed_world |= other_world;
    if (ended && again == 0 && !other_world) return;
    std::string text = ended ? "went on" : "was interrupted, and went on";
    text += " after step " + std::to_string(known.steps_before);
    if (again > 0)
        text += ", " + std::to_string(again) + (again == 1 ? " step" : " steps") + " done twice";
    if (other_world)
        text += ", with " + std::to_string(known.ranks()) +
                (known.ranks() == 1 ? " worker" : " workers") + " instead of " +
                std::to_string(about.ranks());
    diagnostics.push_back({last_step, std::move(text), false});
}

SOTTO_DECL void run_log::miss(std::int64_t steps_before) {
    const std::int64_t missing = steps_before - last_step;
    steps_missing += missing;
    diagnostics.push_back({last_step, (last_step == 0 ? "the first " : "the next ") +
                                          std::to_string(missing) +
                                          (missing == 1 ? " step is" : " steps are") +
                                          " not in this log; seconds and bytes are without them"});
}

SOTTO_DECL void run_log::judge(double loss, std::int64_t after) noexcept {
    if (detail::is_finite(loss))
        not_finite_from = 0;
    else if (not_finite_from == 0)
        not_finite_from = after;
}

SOTTO_DECL void run_log::append(const detail::run_point& point) {
    if (!points.empty()) {
        detail::run_point& last = points.back();
        if (last.part == point.part && last.last_step - last.first_step + 1 < stride_)
            return last.merge(point);
    }
    if (points.size() == points_max) {
        halve(false);
        // If every point has its own part, neighbours differ and the first pass merges nothing.
        if (points.size() == points_max) halve(true);
        stride_ *= 2;
    }
    points.push_back(point);
}

SOTTO_DECL void run_log::halve(bool across_parts) noexcept {
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

SOTTO_DECL void run_log::keep_bytes_of(const std::vector<detail::run_tensor>& before) noexcept {
    if (!same_tensors(before, about.tensors)) {
        tensor_steps = 0;
        typical_round.reset();
        return;
    }
    for (std::size_t t = 0; t < before.size(); ++t)
        about.tensors[t].message_bytes = before[t].message_bytes;
}

SOTTO_DECL void run_log::average(const step& s) noexcept {
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

SOTTO_DECL double computing_seconds(const run_log& run) noexcept {
    const auto [costs, steps] = run.steady();
    return (costs.load + costs.compute + costs.apply) /
           static_cast<double>(std::max<std::int64_t>(steps, 1));
}

}  // namespace sotto
