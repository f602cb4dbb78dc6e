#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/hierarchical.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/core/detail/memory/index_set.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/strategies/detail/all_reduce/host_lane.hpp"
#include "sotto/strategies/detail/all_reduce/lane.hpp"
#include "sotto/strategies/detail/all_reduce/small_groups.hpp"
#include "sotto/strategies/detail/common_epochs.hpp"
#include "sotto/strategies/detail/guarded.hpp"
#include "sotto/strategies/detail/stopwatch.hpp"
#include "sotto/strategies/detail/under_way.hpp"
#include "sotto/strategies/detail/work_of_gradient.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// One rank's side of all_reduce. A round goes through four phases: compute (a tensor is compressed
/// and sent as soon as its gradient is ready), exchange (wait for what is still under way), decode
/// (into a buffer, rank by rank, so that every rank adds in the same order) and, once every rank
/// has voted that it got that far, commit.
template <class Options>
class all_reduce_state {
    using compressor_options = std::remove_cvref_t<decltype(std::declval<Options>().compressor)>;
    using optimizer_options = std::remove_cvref_t<decltype(std::declval<Options>().optimizer)>;
    using compressor_state = state_of<compressor_options>;
    using optimizer_state =
        decltype(std::declval<const optimizer_options&>().bind(std::declval<const layout&>()));
    using collective_options = std::remove_cvref_t<decltype(std::declval<Options>().collective)>;
    static constexpr bool hierarchical =
        std::is_same_v<collective_options, sotto::collectives::hierarchical>;
    using lane_type = std::conditional_t<hierarchical, host_lane<compressor_options>,
                                         lane<compressor_options, collective_options>>;

public:
    all_reduce_state(const Options& options, const layout& tensors, transport_ref through)
        : tensors_(tensors),
          through_(through),
          compressor_(options.compressor.bind(tensors_)),
          optimizer_(options.optimizer.bind(tensors_)),
          gradient_(static_cast<std::size_t>(tensors.size())),
          sum_(static_cast<std::size_t>(tensors.size())),
          tensor_bytes_(tensors.tensors().size()),
          times_(tensors.tensors().size()),
          epochs_(through),
          progress_(tensors.tensors().size()),
          gives_(static_cast<std::size_t>(through.size())),
          in_flight_(tensors.tensors().size()) {
        optimizing::follow_momentum(optimizer_, compressing::momentum(compressor_));
        if constexpr (hierarchical) ranks_per_worker_ = options.collective.ranks_per_host;
        add_lanes(options);
        through.reserve(transfers_max());
    }

    data::share share() const noexcept { return {through_.rank(), through_.size()}; }

    int sender_for(int rank) const {
        if constexpr (hierarchical)
            return static_cast<int>(sotto::collectives::hierarchical{ranks_per_worker_}
                                        .host_of(rank, through_.size())
                                        .begin);
        return rank;
    }

    epoch_agreement begin_epoch(const epoch_plan& plan) { return epochs_.begin(plan); }

    template <class Model>
    round_report round(task<Model>& job, std::span<float> parameters) {
        return detail::guarded(
            through_, [&] { return attempt(job, parameters); }, [this]() noexcept { undo(); });
    }

    /// Everything to be saved, by name. It is not there where something would be left out.
    template <class Field>
    void visit(Field&& field) requires(
        compressing::can_be_saved<compressor_state>&& optimizing::can_be_saved<optimizer_options>) {
        compressing::visit(compressor_, field);
        optimizing::visit(optimizer_, field);
    }

    /// The compressor's state.
    const compressor_state& compressor() const noexcept { return compressor_; }

private:
    /// Of a tensor in a round. A tensor is packed from then on, also while it travels.
    enum class progress : std::uint8_t { at_rest, computed, packed };

    void add_lanes(const Options& options) {
        require_option("all_reduce", "group_bytes", options.group_bytes, allowed::at_least(0));
        std::vector<typename lane_type::shared*> group_of(tensors_.tensors().size());
        for (auto& members :
             small_groups(tensors_, compressor_, options.group_bytes,
                          [&](const tensor& t) { return lane_type::is_summed(compressor_, t); })) {
            auto& group = groups_.emplace_back(std::move(members), compressor_,
                                               lane_type::binding(options, through_));
            for (const tensor& t : group.members()) group_of[slot(t)] = &group;
        }
        for (const tensor& t : tensors_)
            lanes_.emplace_back(t, options, compressor_, through_, gives_, group_of[slot(t)]);
    }

    /// Ranks whose part of the data is used up may send nothing; a compressor that remembers always
    /// sends. In a hierarchy: hosts.
    void note_who_gives() noexcept {
        const std::int64_t world = through_.size();
        for (std::int64_t first = 0, worker = 0; first < world; ++worker) {
            const std::int64_t count = (std::min)(ranks_per_worker_, world - first);
            gives_[static_cast<std::size_t>(worker)] =
                remembers<compressor_options> ||
                epochs_.examples_of_round(static_cast<std::size_t>(first),
                                          static_cast<std::size_t>(count)) > 0;
            first += count;
        }
    }

    template <class Model>
    round_report attempt(task<Model>& job, std::span<float> parameters) {
        const round_info where{job.step, job.epoch, through_.rank(), through_.size(),
                               share_of_round(job.examples)};
        const traffic before = through_.counters();
        stopwatch watch(through_);
        compressing::begin_round(compressor_, as_worker(where));
        note_who_gives();
        begin(where);

        round_report report{.examples = job.examples, .dense_bytes = 4 * tensors_.size()};
        if (job.examples > 0)
            report.loss = compute(job, parameters, static_cast<float>(where.share), watch);
        else
            take_part();
        report.compress += watch.lap();

        at("exchange");
        wait();
        report.wait += watch.lap();

        for (const tensor& t : tensors_) {
            lane_of(t).decode(compressor_, t.of(std::span(sum_)));
            times_[slot(t)].decoded = since_begun();
        }
        report.compress += watch.lap();

        optimizer_.begin_step({.where = where}, std::span<const float>(sum_));
        report.apply = watch.lap();

        at("commit");
        through_.agree(true);
        report.wait += watch.lap();
        report.agreed = since_begun();

        commit(parameters);
        report.apply += watch.lap();
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
            report.exchange = under_way_.total(report.ended);
            report.hidden = hidden_;
        }
        return report;
    }

    void undo() noexcept {
        compressing::rollback(compressor_);
        for (auto& l : lanes_) l.abandon();
        std::fill(sum_.begin(), sum_.end(), 0.0f);
    }

    void begin(const round_info& where) {
        step_ = where.step;
        computing_ = compressing_ = duration{};
        std::fill(progress_.begin(), progress_.end(), progress::at_rest);
        in_flight_.clear();
        arrived_ = next_asked_ = 0;
        std::fill(tensor_bytes_.begin(), tensor_bytes_.end(), std::int64_t{0});
        std::fill(times_.begin(), times_.end(), tensor_times{});
        under_way_ = {};
        hidden_ = {};
        began_ = through_.now();
        at("compute");
    }

    template <class Model>
    double compute(task<Model>& job, std::span<const float> parameters, float weight,
                   stopwatch& watch) {
        const bool at_once = !compressing::waits_for_all(compressor_);
        gradient_work computed(through_, job);
        const double loss = job.model.gradient(parameters, job.batch, std::span<float>(gradient_),
                                               [&](const tensor& t) {
                                                   computed.is_ready(t);
                                                   computing_ += watch.lap();
                                                   is_ready(t);
                                                   if (at_once) {
                                                       weigh(t, weight);
                                                       send(t, weight);
                                                   }
                                                   (void)advance(asked_meanwhile);
                                                   compressing_ += watch.lap();
                                               });
        computed.end();
        computing_ += watch.lap();
        for (const tensor& t : tensors_)
            if (progress_[slot(t)] == progress::at_rest) is_ready(t);
        for (auto t = tensors_.tensors().rbegin(); t != tensors_.tensors().rend(); ++t)
            if (progress_[slot(*t)] == progress::computed) weigh(*t, weight);
        for (auto t = tensors_.tensors().rbegin(); t != tensors_.tensors().rend(); ++t)
            if (progress_[slot(*t)] == progress::computed) send(*t, weight);
        compressing_ += watch.lap();
        detail::use_the_time(job.model, [this] { (void)advance(asked_meanwhile); });
        computing_ += watch.lap();
        return loss;
    }

    /// Without data.
    void take_part() {
        std::fill(gradient_.begin(), gradient_.end(), 0.0f);
        for (const tensor& t : tensors_) compressing::measured(compressor_, t, 0.0);
        for (auto t = tensors_.tensors().rbegin(); t != tensors_.tensors().rend(); ++t) {
            const auto zeros = t->of(std::span<const float>(gradient_));
            tensor_bytes_[slot(*t)] = lane_of(*t).send_nothing(compressor_, zeros, step_);
            has_left(*t);
        }
    }

    void is_ready(const tensor& t) {
        if (progress_[slot(t)] != progress::at_rest)
            throw invalid_option("all_reduce: the model announced tensor '" + t.name +
                                 "' twice; once its gradient is announced it must be final");
        progress_[slot(t)] = progress::computed;
        times_[slot(t)].ready = since_begun();
    }

    /// Whether the compressor weighs, checks and encodes in one pass.
    bool is_weighed_late(const tensor& t) noexcept {
        if constexpr (hierarchical)
            return false;  // what is encoded is the host's sum
        else
            return lane_of(t).weighs(compressor_);
    }

    /// A NaN that got into memory would stay there for ever. The sum of squares is finite if and
    /// only if all values are, so that one pass scales, checks and measures; a weight is at most 1
    /// and makes none infinite.
    void weigh(const tensor& t, float weight) {
        if (is_weighed_late(t)) return;
        const auto part = t.of(std::span(gradient_));
        const double squares = weight == 1.0f ? kernels::sum_of_squares(part)
                                              : kernels::scale_and_sum_squares(part, weight);
        if (!kernels::is_finite(squares))
            throw non_finite(through_.rank(), t.name, kernels::first_non_finite(part));
        compressing::measured(compressor_, t, squares);
    }

    void send(const tensor& t, float weight) {
        const auto gradient = t.of(std::span<const float>(gradient_));
        tensor_bytes_[slot(t)] = is_weighed_late(t) ? send_weighted(t, gradient, weight)
                                                    : lane_of(t).send(compressor_, gradient, step_);
        has_left(t);
    }

    std::int64_t send_weighted(const tensor& t, std::span<const float> gradient, float weight) {
        if constexpr (hierarchical) {
            return 0;
        } else {
            try {
                return lane_of(t).send_weighted(compressor_, gradient, weight, step_);
            } catch (const error& e) {
                // The model's, or only what has accumulated?
                const auto first = kernels::first_non_finite(gradient);
                if (e.code() != errc::non_finite || first < 0) throw;
                throw non_finite(through_.rank(), t.name, first);
            }
        }
    }

    /// One that travels with others has left when the last of them is packed. The first of them is
    /// asked for all.
    void has_left(const tensor& t) noexcept {
        progress_[slot(t)] = progress::packed;
        const auto* group = lane_of(t).together();
        if (!group) {
            is_under_way(t);
            return in_flight_.insert(slot(t));
        }
        if (!group->started()) return;
        for (const tensor& each : group->members()) is_under_way(each);
        in_flight_.insert(slot(group->members().front()));
    }

    void is_under_way(const tensor& t) noexcept {
        tensor_times& times = times_[slot(t)];
        times.left = times.arrived = since_begun();
        if (t.size > 0) under_way_.left(times.left);
        hidden_ = under_way_.total(times.left);  // up to the last tensor's
    }

    /// Asks tensors that are in flight whether all ranks' gradients are here: all of them, or so
    /// many, in turns. Returns whether all tensors have arrived.
    ///   cost    O(asked): of 20,000 tensors, as many as are in flight cannot be asked for each
    ///           that becomes ready
    bool advance(std::size_t asked) {
        if (in_flight_.size() <= asked) next_asked_ = 0;
        for (std::size_t left = (std::min)(asked, in_flight_.size()); left > 0; --left) {
            std::size_t i = in_flight_.next(next_asked_);
            if (i == in_flight_.end()) i = in_flight_.next(0);
            next_asked_ = i + 1;
            if (!lanes_[i].advance(compressor_)) continue;
            in_flight_.erase(i);
            const auto* group = lanes_[i].together();
            if (!group) {
                has_arrived(tensors_.tensors()[i]);
                continue;
            }
            for (const tensor& each : group->members()) has_arrived(each);
        }
        return arrived_ == lanes_.size();
    }

    void has_arrived(const tensor& t) noexcept {
        ++arrived_;
        if (t.size == 0) return;  // nothing of it was seen to travel
        tensor_times& times = times_[slot(t)];
        times.arrived = since_begun();
        under_way_.arrived(times.arrived);
    }

    duration since_begun() const noexcept { return through_.now() - began_; }

    void wait() {
        while (true) {
            const std::uint64_t seen = through_.activity();
            if (advance(lanes_.size())) return;
            through_.await(seen);
        }
    }

    /// Every rank has voted for the round: nothing may fail from here on.
    void commit(std::span<float> parameters) noexcept {
        const bool sparsely = optimizing::updates_sparsely(optimizer_);
        for (const tensor& t : tensors_)
            lane_of(t).apply(optimizer_, sparsely, t.of(parameters), t.of(std::span(sum_)));
        optimizing::commit(optimizer_);
        compressing::commit(compressor_);
        epochs_.end_round();
    }

    /// An exchange has windows of segments under way, or up to three messages from and to every
    /// rank. Room for more than a million transfers is taken when it is needed.
    std::int64_t transfers_max() const noexcept {
        constexpr std::int64_t windows = 9;  // of all_gather_v around a ring
        constexpr std::int64_t most = std::int64_t{1} << 20;
        const std::int64_t each = (std::max)(windows, 3 * std::int64_t{through_.size()});
        const auto alone = std::ranges::count_if(
            lanes_, [](const lane_type& one) { return one.together() == nullptr; });
        const std::int64_t exchanges = std::int64_t{alone} + std::ssize(groups_);
        return (std::min)(most, exchanges * each);
    }

    /// By how much the mean gradient of these examples counts in the sum.
    double share_of_round(std::int64_t examples) const noexcept {
        if (examples == 0) return 0.0;
        return static_cast<double>(examples) /
               static_cast<double>((std::max)(examples, epochs_.examples_of_round()));
    }

    /// Whose gradient is compressed: what is packed is this rank's, what is encoded this rank's or,
    /// in a hierarchy, all of its host's.
    round_info as_worker(round_info where) const {
        where.packed_share = where.share;
        if constexpr (hierarchical) {
            const sotto::collectives::hierarchical hosts{ranks_per_worker_};
            const collectives::range host = hosts.host_of(where.rank, where.world_size);
            where.share = share_of_round(epochs_.examples_of_round(
                static_cast<std::size_t>(host.begin), static_cast<std::size_t>(host.size())));
            where.rank = static_cast<int>(hosts.host_number(where.rank));
            where.world_size = static_cast<int>(hosts.hosts(where.world_size));
        }
        return where;
    }

    void at(const char* phase) { through_.at({.round = step_, .phase = phase}); }

    static std::size_t slot(const tensor& t) noexcept { return static_cast<std::size_t>(t.index); }
    lane_type& lane_of(const tensor& t) noexcept { return lanes_[slot(t)]; }

    layout tensors_;
    transport_ref through_;
    compressor_state compressor_;
    optimizer_state optimizer_;
    large_vector<float> gradient_;
    large_vector<float> sum_;  // of gathered tensors: all zero between rounds
    std::vector<std::int64_t> tensor_bytes_;
    std::vector<tensor_times> times_;
    time_point began_{};
    under_way under_way_;
    duration hidden_{};
    common_epochs epochs_;
    // While gradients are computed, each that is ready asks at most so many tensors in flight.
    static constexpr std::size_t asked_meanwhile = 64;

    std::vector<progress> progress_;
    std::vector<std::uint8_t> gives_;  // of each rank or host, in this round
    detail::index_set in_flight_;      // tensors that are not all here; of a group the first
    std::size_t next_asked_ = 0;       // where the next one of them is looked for
    std::size_t arrived_ = 0;          // tensors
    std::int64_t ranks_per_worker_ = 1;
    std::int64_t step_ = 0;
    duration computing_{};
    duration compressing_{};
    std::deque<typename lane_type::shared> groups_;
    std::deque<lane_type> lanes_;  // last: their transfers end before the memory goes
};

}  // namespace sotto::detail
