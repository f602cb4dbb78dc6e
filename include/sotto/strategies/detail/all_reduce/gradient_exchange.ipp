#pragma once

#include "sotto/strategies/detail/all_reduce/gradient_exchange.hpp"

#include <algorithm>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/strategies/detail/all_reduce/hierarchical_exchange.hpp"
#include "sotto/strategies/detail/all_reduce/flat_exchange.hpp"
#include "sotto/strategies/detail/all_reduce/buckets.hpp"

namespace sotto::detail {

SOTTO_DECL gradient_exchange::gradient_exchange(
    const layout& tensors, transport_ref through, message_codec& codec, const exchange_ways& ways,
    std::int64_t bucket_bytes, std::optional<sotto::collectives::hierarchical> hosts)
    : tensors_(tensors),
      through_(through),
      codec_(codec),
      hosts_(hosts),
      gradient_(static_cast<std::size_t>(tensors.size())),
      sum_(static_cast<std::size_t>(tensors.size())),
      tensor_bytes_(tensors.tensors().size()),
      times_(tensors.tensors().size()),
      epochs_(through),
      progress_(tensors.tensors().size()),
      gives_(static_cast<std::size_t>(through.size())),
      in_flight_(tensors.tensors().size()) {
    add_exchanges(ways, bucket_bytes);
    through.reserve(transfers_max());
}

SOTTO_DECL gradient_exchange::~gradient_exchange() = default;

SOTTO_DECL int gradient_exchange::sender_for(int rank) const {
    return hosts_ ? static_cast<int>(hosts_->host_of(rank, through_.size()).begin) : rank;
}

SOTTO_DECL void gradient_exchange::add_exchanges(const exchange_ways& ways,
                                                 std::int64_t bucket_bytes) {
    require_option("all_reduce", "bucket_bytes", bucket_bytes, allowed::at_least(0));
    std::vector<bucket*> group_of(tensors_.tensors().size());
    for (auto& members : buckets(tensors_, codec_, bucket_bytes, [&](const tensor& t) {
             return flat_exchange::is_summed(codec_, ways, t);
         })) {
        auto& group = groups_.emplace_back(std::move(members), codec_, through_, ways.sum);
        for (const tensor& t : group.members()) group_of[slot(t)] = &group;
    }
    for (const tensor& t : tensors_)
        if (hosts_)
            exchanges_.push_back(std::make_unique<hierarchical_exchange>(
                t, *hosts_, ways, codec_, through_, gives_, group_of[slot(t)]));
        else
            exchanges_.push_back(std::make_unique<flat_exchange>(t, ways, codec_, through_, gives_,
                                                                 group_of[slot(t)]));
}

SOTTO_DECL void gradient_exchange::note_who_gives() noexcept {
    const std::int64_t world = through_.size(), each = hosts_ ? hosts_->ranks_per_host : 1;
    for (std::int64_t first = 0, worker = 0; first < world; ++worker) {
        const std::int64_t count = (std::min)(each, world - first);
        gives_[static_cast<std::size_t>(worker)] =
            codec_.can.remembers || epochs_.examples_of_round(static_cast<std::size_t>(first),
                                                              static_cast<std::size_t>(count)) > 0;
        first += count;
    }
}

SOTTO_DECL round_info gradient_exchange::info_of_round(std::int64_t step, double epoch,
                                                       std::int64_t examples) const {
    return {step, epoch, through_.rank(), through_.size(), share_of_round(examples)};
}

SOTTO_DECL round_info gradient_exchange::as_worker(round_info where) const {
    where.packed_share = where.share;
    if (!hosts_) return where;
    const collectives::range host = hosts_->host_of(where.rank, where.world_size);
    where.share = share_of_round(epochs_.examples_of_round(static_cast<std::size_t>(host.begin),
                                                           static_cast<std::size_t>(host.size())));
    where.rank = static_cast<int>(hosts_->host_number(where.rank));
    where.world_size = static_cast<int>(hosts_->hosts(where.world_size));
    return where;
}

SOTTO_DECL void gradient_exchange::begin(const round_info& where) {
    note_who_gives();
    step_ = where.step;
    computing_ = compressing_ = duration{};
    std::fill(progress_.begin(), progress_.end(), progress::at_rest);
    in_flight_.clear();
    arrived_ = next_asked_ = 0;
    std::fill(tensor_bytes_.begin(), tensor_bytes_.end(), std::int64_t{0});
    std::fill(times_.begin(), times_.end(), tensor_times{});
    in_flight_time_ = {};
    hidden_ = {};
    began_ = through_.now();
    at("compute");
}

SOTTO_DECL void gradient_exchange::announce(const tensor& t, float weight, stopwatch& watch) {
    computing_ += watch.lap();
    is_ready(t);
    if (!codec_.waits_for_all()) {
        weigh(t, weight);
        send(t, weight);
    }
    (void)advance(asked_meanwhile);
    compressing_ += watch.lap();
}

SOTTO_DECL void gradient_exchange::all_ready(float weight, stopwatch& watch) {
    computing_ += watch.lap();
    const auto all = tensors_.tensors();
    for (const tensor& t : all)
        if (progress_[slot(t)] == progress::at_rest) is_ready(t);
    for (auto t = all.rbegin(); t != all.rend(); ++t)
        if (progress_[slot(*t)] == progress::computed) weigh(*t, weight);
    for (auto t = all.rbegin(); t != all.rend(); ++t)
        if (progress_[slot(*t)] == progress::computed) send(*t, weight);
    compressing_ += watch.lap();
}

SOTTO_DECL void gradient_exchange::take_part() {
    std::fill(gradient_.begin(), gradient_.end(), 0.0f);
    for (const tensor& t : tensors_) codec_.measured(t, 0.0);
    for (auto t = tensors_.tensors().rbegin(); t != tensors_.tensors().rend(); ++t) {
        const auto zeros = t->of(std::span<const float>(gradient_));
        tensor_bytes_[slot(*t)] = exchange_of(*t).send_nothing(zeros, step_);
        has_left(*t);
    }
}

SOTTO_DECL void gradient_exchange::wait() {
    while (true) {
        const std::uint64_t seen = through_.activity();
        if (advance(exchanges_.size())) return;
        through_.await(seen);
    }
}

SOTTO_DECL void gradient_exchange::decode() {
    for (const tensor& t : tensors_) {
        exchange_of(t).decode(t.of(std::span(sum_)));
        times_[slot(t)].decoded = since_begun();
    }
}

SOTTO_DECL void gradient_exchange::agree() {
    at("commit");
    through_.agree(true);
    agreed_ = since_begun();
}

SOTTO_DECL void gradient_exchange::undo() noexcept {
    for (auto& l : exchanges_) l->abandon();
    std::fill(sum_.begin(), sum_.end(), 0.0f);
}

SOTTO_DECL void gradient_exchange::report_costs(round_report& report, const traffic& before) {
    report.dense_bytes = 4 * tensors_.size();
    report.agreed = agreed_;
    report.ended = since_begun();
    report.compute = computing_;
    report.compress += compressing_;
    const traffic after = through_.counters();
    report.bytes_sent = after.bytes_sent - before.bytes_sent;
    report.bytes_received = after.bytes_received - before.bytes_received;
    for (const std::int64_t size : tensor_bytes_) report.message_bytes += size;
    report.tensor_message_bytes = tensor_bytes_;
    report.began = began_;
    report.tensor_times = times_;
    if (through_.size() > 1) {  // one rank has nobody to exchange with
        report.exchange = in_flight_time_.total(report.ended);
        report.hidden = hidden_;
    }
}

SOTTO_DECL void gradient_exchange::is_ready(const tensor& t) {
    if (progress_[slot(t)] != progress::at_rest)
        throw invalid_option("all_reduce: the model announced tensor '" + t.name +
                             "' twice; once its gradient is announced it must be final");
    progress_[slot(t)] = progress::computed;
    times_[slot(t)].ready = since_begun();
}

SOTTO_DECL bool gradient_exchange::is_weighed_late(const tensor& t) noexcept {
    return exchange_of(t).weighs();
}

SOTTO_DECL void gradient_exchange::weigh(const tensor& t, float weight) {
    if (is_weighed_late(t)) return;
    const auto part = t.of(std::span(gradient_));
    const double squares = weight == 1.0f ? kernels::sum_of_squares(part)
                                          : kernels::scale_and_sum_squares(part, weight);
    if (!kernels::is_finite(squares))
        throw non_finite(through_.rank(), t.name, kernels::first_non_finite(part));
    codec_.measured(t, squares);
}

SOTTO_DECL void gradient_exchange::send(const tensor& t, float weight) {
    const auto gradient = t.of(std::span<const float>(gradient_));
    tensor_bytes_[slot(t)] = is_weighed_late(t) ? send_weighted(t, gradient, weight)
                                                : exchange_of(t).send(gradient, step_);
    has_left(t);
}

SOTTO_DECL std::int64_t gradient_exchange::send_weighted(const tensor& t,
                                                         std::span<const float> gradient,
                                                         float weight) {
    try {
        return exchange_of(t).send_weighted(gradient, weight, step_);
    } catch (const error& e) {
        // The model's, or only what has accumulated?
        const auto first = kernels::first_non_finite(gradient);
        if (e.code() != errc::non_finite || first < 0) throw;
        throw non_finite(through_.rank(), t.name, first);
    }
}

SOTTO_DECL void gradient_exchange::has_left(const tensor& t) noexcept {
    progress_[slot(t)] = progress::packed;
    const auto* group = exchange_of(t).together();
    if (!group) {
        is_under_way(t);
        return in_flight_.insert(slot(t));
    }
    if (!group->started()) return;
    for (const tensor& each : group->members()) is_under_way(each);
    in_flight_.insert(slot(group->members().front()));
}

SOTTO_DECL void gradient_exchange::is_under_way(const tensor& t) noexcept {
    tensor_times& times = times_[slot(t)];
    times.left = times.arrived = since_begun();
    if (t.size > 0) in_flight_time_.left(times.left);
    hidden_ = in_flight_time_.total(times.left);  // up to the last tensor's
}

SOTTO_DECL bool gradient_exchange::advance(std::size_t asked) {
    if (in_flight_.size() <= asked) next_asked_ = 0;
    for (std::size_t left = (std::min)(asked, in_flight_.size()); left > 0; --left) {
        std::size_t i = in_flight_.next(next_asked_);
        if (i == in_flight_.end()) i = in_flight_.next(0);
        next_asked_ = i + 1;
        if (!exchanges_[i]->advance()) continue;
        in_flight_.erase(i);
        const auto* group = exchanges_[i]->together();
        if (!group) {
            has_arrived(tensors_.tensors()[i]);
            continue;
        }
        for (const tensor& each : group->members()) has_arrived(each);
    }
    return arrived_ == exchanges_.size();
}

SOTTO_DECL void gradient_exchange::has_arrived(const tensor& t) noexcept {
    ++arrived_;
    if (t.size == 0) return;  // nothing of it was seen to travel
    tensor_times& times = times_[slot(t)];
    times.arrived = since_begun();
    in_flight_time_.arrived(times.arrived);
}

SOTTO_DECL std::int64_t gradient_exchange::transfers_max() const noexcept {
    constexpr std::int64_t windows = 9;  // of all_gather_v around a ring
    constexpr std::int64_t most = std::int64_t{1} << 20;
    const std::int64_t each = (std::max)(windows, 3 * std::int64_t{through_.size()});
    const auto alone = std::ranges::count_if(
        exchanges_, [](const auto& one) { return one->together() == nullptr; });
    const std::int64_t exchanges = std::int64_t{alone} + std::ssize(groups_);
    return (std::min)(most, exchanges * each);
}

SOTTO_DECL double gradient_exchange::share_of_round(std::int64_t examples) const noexcept {
    if (examples == 0) return 0.0;
    return static_cast<double>(examples) /
           static_cast<double>((std::max)(examples, epochs_.examples_of_round()));
}

}  // namespace sotto::detail
