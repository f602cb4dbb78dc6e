#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/strategies/consensus_report.hpp"
#include "sotto/strategies/detail/common_epochs.hpp"
#include "sotto/strategies/detail/gossip/common_control.hpp"
#include "sotto/strategies/detail/gossip/consensus_study.hpp"
#include "sotto/strategies/detail/gossip/mixing_rounds.hpp"
#include "sotto/strategies/detail/gossip/peers_of_gossip.hpp"
#include "sotto/strategies/detail/gossip/state_snapshot.hpp"
#include "sotto/strategies/detail/with_rollback.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/detail/stopwatch.hpp"
#include "sotto/strategies/detail/gradient_cost.hpp"
#include "sotto/strategies/gossip/mixing/mixing_method.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/topologies/detail/mixing_graph.hpp"
#include "sotto/topologies/spectrum.hpp"
#include "sotto/topologies/topology.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// One rank's side of gossip. A round is: the gradient; the step, into a copy of the parameters, by
/// tensor where the optimizer can, so that what is ready mixes while the rest is computed; rounds
/// of mixing until the controller has enough; and then the copy becomes the parameters.
template <class Options>
class gossip_state {
    using optimizer_options = std::remove_cvref_t<decltype(std::declval<Options>().optimizer)>;
    using optimizer_state =
        decltype(std::declval<const optimizer_options&>().bind(std::declval<const layout&>()));
    using method = std::remove_cvref_t<decltype(std::declval<Options>().mixing)>;
    using method_state = mixing_state<method>;
    using peers = typename peers_of_gossip<Options>::type;
    using control = common_control<Options>;

    static constexpr bool survives = survives_losses<Options>;
    static constexpr bool by_shares = mixing::by_shares<method>;
    static constexpr bool combines_first = mixing::combines_first<method>;
    /// Whether tensors move as soon as their gradient is there.
    static constexpr bool steps_early =
        !combines_first && optimizing::steps_by_tensor<optimizer_state>;

public:
    gossip_state(const Options& options, const layout& tensors, transport_ref through)
        : tensors_(tensors),
          through_(through),
          method_(options.mixing.bind(tensors_)),
          optimizer_(options.optimizer.bind(tensors_)),
          measure_every_(measured_by(options)),
          topology_name_(sotto::topologies::name_for_logs(options.topology)),
          peers_(peers_of_gossip<Options>::made_for(options, through)),
          epochs_(through),
          gradient_(static_cast<std::size_t>(tensors.size())),
          next_(static_cast<std::size_t>(tensors.size()) + (by_shares ? 1 : 0)),
          times_(tensors.tensors().size()),
          is_stepped_(tensors.tensors().size()),
          mixing_(options, tensors_, std::ssize(next_), through, peers_),
          control_(options, through, peers_) {
        require_option("gossip", "measure_every", measure_every_, allowed::at_least(0));
        if (controlling::needs_gap(options.control) &&
            !(controlling::is_above(1.0, mixing_.second_singular_value()) &&
              mixing_.summary().period > 0))
            throw invalid_option(
                "gossip: this controller decides by the graph's spectral gap, 1 - lambda, which is "
                "not known of " +
                (topology_name_.empty() ? std::string("this topology") : topology_name_) +
                ", whose rounds are drawn anew or whose weights are not doubly stochastic: leave "
                "out consensus_control::scaled_by_gap");
        before_.take(shown_before());  // the memory, now
        before_.drop();
        if (measure_every_ > 0 || control::measures_exactly) {
            study_.emplace(through, tensors_, measure_every_ > 0);
            if (by_shares) of_weight_.resize(static_cast<std::size_t>(tensors.size()));
        }
    }

    /// Who mixes with whom, for logs.
    topologies::mixing_graph graph() {
        const auto matrix = [this](std::int64_t round) -> const auto& {
            return mixing_.matrix(round);
        };
        const topologies::mixing_summary& all = mixing_.summary();
        auto graph =
            topologies::graph_of(through_.size(), all.period, all.second_singular_value, matrix);
        graph.p = all.p();
        graph.topology = topology_name_;
        graph.bytes_a_round = mixing_.bytes_a_round(graph.degree);
        graph.ranks_may_go = survives;
        return graph;
    }

    data::share share() const noexcept { return {through_.rank(), through_.size()}; }

    /// Where ranks may come and go, what one rank has of the data is no other's concern.
    epoch_agreement begin_epoch(const epoch_plan& plan) {
        if constexpr (!survives) return epochs_.begin(plan);
        control_.begin_epoch(plan.rounds());
        return {.rounds = plan.rounds(), .stop = plan.stop != 0};
    }

    // Where ranks may come and go

    bool introduce(const std::string& configuration) {
        if constexpr (survives) peers_.introduce(configuration);
        return survives;
    }
    fit_start begin(std::span<float> parameters, std::span<float> buffers = {}) {
        if constexpr (survives) {
            at("begin");
            return with_rollback([&] { return peers_.begin(parameters, buffers); });
        }
        return {};
    }
    void finish(std::span<float>) {
        if constexpr (survives) {
            at("finish");
            with_rollback([&] { peers_.finish(); });
        }
    }
    /// Ranks that failed while this one trained on, in order.
    std::span<const rank_loss> losses() const noexcept {
        if constexpr (survives) return peers_.losses();
        return {};
    }

    template <class Model>
    round_report round(round_input<Model>& job, std::span<float> parameters) {
        return with_rollback([&] { return attempt(job, parameters); });
    }

    /// Everything to be saved, by name: each rank's own. Not there where something would be left
    /// out, or where ranks come and go.
    template <class Field>
    void visit(Field&& field) requires(!survives && optimizing::can_be_saved<optimizer_options> &&
                                       control::can_be_saved &&
                                       mixing::can_be_saved<method_state> &&
                                       mixing_rounds<Options>::can_be_saved) {
        optimizing::visit(optimizer_, visitor_of_own(field, "optimizer/"));
        control_.visit(visitor_of_own(field, "control/"));
        sotto::mixing::visit(method_, visitor_of_own(field, "mixing/"));
        mixing_.visit(visitor_of_own(field, "mixing/"));
        if constexpr (by_shares) field("mixing/weight", weight_, kept::own);
    }

    /// Rounds of mixing, and who mixes with whom.
    auto& rounds() noexcept { return mixing_; }
    /// For whoever looks on.
    const auto& rounds() const noexcept { return mixing_; }
    /// By push-sum: this rank's weight, 1 at first, and what its parameters weigh in the mean.
    double weight() const noexcept requires by_shares { return weight_; }

private:
    static std::int64_t measured_by(const Options& options) {
        if constexpr (survives)
            return 0;
        else
            return options.options.measure_every;
    }

    /// What changes before a step is known to take place; nothing else does.
    auto shown_before() noexcept {
        return [this](auto&& field) {
            optimizing::visit(optimizer_, field);
            control_.visit(field);
        };
    }

    template <class Action>
    auto with_rollback(Action action) -> decltype(action()) {
        return detail::with_rollback(through_, action, [this]() noexcept {
            sotto::mixing::rollback(method_);
            mixing_.rollback();
            before_.put_back(shown_before());
        });
    }

    template <class Model>
    round_report attempt(round_input<Model>& job, std::span<float> parameters) {
        const traffic before = through_.counters();
        stopwatch watch(through_);
        begin(job);
        round_report report{.examples = job.examples, .dense_bytes = 4 * tensors_.size()};
        take_copy(parameters);
        // The mean of all is the method's affair, not the controller's, and of where steps led:
        // what is taken before the last one is not what ranks then have.
        const bool wants_mean = sotto::mixing::wants_mean(method_);
        const bool mixes = control_.wants_one() || wants_mean;
        const bool mixes_first = combines_first && !wants_mean;
        at("compute");
        if (mixes) mixing_.begin(next_, method_);
        if (mixes_first && mixes) release_all();
        if constexpr (steps_early) begin_step();
        report.apply = watch.lap();
        report.loss = compute(job, parameters, mixes, report, watch);
        if (!mixes_first) {
            step_rest(job, parameters, mixes);
            if (mixes) release_all();
        }
        report.apply += watch.lap();
        if (job.examples > 0) {
            detail::use_the_time(job.model, [&] {
                serve();
                if (mixes) (void)mixing_.advance();
            });
            computing_ += watch.lap();
        }

        at("mix");
        if (mixes) mix(report, watch);
        study(report.consensus, parameters);  // of what was mixed, as a controller measures it
        if (mixes_first) step_rest(job, parameters, false);
        commit(parameters);
        report.apply += watch.lap();

        finish_report(report, before);
        return report;
    }

    template <class Model>
    void begin(const round_input<Model>& job) {
        where_ = {job.step, job.epoch, through_.rank(), through_.size(), -1.0};
        began_ = through_.now();
        computing_ = computed_ = left_ = {};
        squares_ = 0.0;
        has_data_ = job.examples > 0;
        study_bytes_ = 0;
        studies_ = measure_every_ > 0 && job.step % measure_every_ == 0;
        std::fill(times_.begin(), times_.end(), tensor_times{});
        std::fill(is_stepped_.begin(), is_stepped_.end(), false);
        first_released_ = is_stepped_.size();
        before_.take(shown_before());
        rate_ = optimizing::rate_at(optimizer_, where_);
        control_.begin_step(where_, optimizer_);
        mixing_.begin_step(where_, control_.wants_mean());
    }

    void take_copy(std::span<const float> parameters) {
        std::copy(parameters.begin(), parameters.end(), next_.begin());
        if constexpr (by_shares) {
            kernels::scale(moved(), static_cast<float>(weight_));
            next_.back() = static_cast<float>(weight_);
        }
    }

    // The step

    template <class Model>
    double compute(round_input<Model>& job, std::span<const float> parameters, bool mixes,
                   round_report& report, stopwatch& watch) {
        if (job.examples == 0) {
            std::fill(gradient_.begin(), gradient_.end(), 0.0f);
            for (const tensor& t : tensors_) has_gradient(t);
            return 0.0;
        }
        gradient_work computed(through_, job);
        const double loss = job.model.gradient(parameters, job.batch, std::span<float>(gradient_),
                                               [&](const tensor& t) {
                                                   computed.is_ready(t);
                                                   computing_ += watch.lap();
                                                   has_gradient(t);
                                                   if (steps_early) step(t, parameters, mixes);
                                                   serve();
                                                   if (mixes) (void)mixing_.advance();
                                                   report.apply += watch.lap();
                                               });
        computed.end();
        computing_ += watch.lap();
        for (const tensor& t : tensors_)
            if (times_[slot(t)].ready == duration{}) has_gradient(t);
        computed_ = since_begun();
        return loss;
    }

    void has_gradient(const tensor& t) {
        const auto part = t.of(std::span(gradient_));
        times_[slot(t)].ready = (std::max)(since_begun(), duration{1});
        const double squares = kernels::sum_of_squares(part);
        if (!kernels::is_finite(squares))
            throw non_finite(through_.rank(), t.name, kernels::first_non_finite(part));
        squares_ += squares;
        if (studies_) std::ranges::copy(part, t.of(study_->gradient()).begin());
        sotto::mixing::direct(method_, t, part);
    }

    void begin_step() {
        optimizer_.begin_step({.where = where_}, std::span<const float>(gradient_));
    }

    void step(const tensor& t, std::span<const float> parameters, bool mixes) {
        const auto next = t.of(moved());
        optimizer_.update(t, next, t.of(std::span<const float>(gradient_)));
        sotto::mixing::correct(method_, t, t.of(parameters), next);
        is_stepped_[slot(t)] = true;
        // Where parameters mix first they are on their way before there is a gradient.
        times_[slot(t)].left = combines_first ? times_[slot(t)].ready : since_begun();
        if (mixes) release_stepped();
    }

    /// Those whose step has not been done, once all gradients are there. A rank without data has
    /// none to do, but where the method makes one of what others have.
    template <class Model>
    void step_rest(const round_input<Model>& job, std::span<const float> parameters, bool mixes) {
        if constexpr (!steps_early) begin_step();
        const bool steps = job.examples > 0 || mixing::directs<method_state>;
        for (auto t = tensors_.tensors().rbegin(); t != tensors_.tensors().rend(); ++t) {
            if (is_stepped_[slot(*t)]) continue;
            if (steps)
                step(*t, parameters, mixes);
            else
                sotto::mixing::correct(method_, *t, t->of(parameters), t->of(moved()));
        }
    }

    /// The last tensors that have all been stepped can leave.
    void release_stepped() {
        while (first_released_ > 0 && is_stepped_[first_released_ - 1]) --first_released_;
        if (left_ == duration{}) left_ = since_begun();
        mixing_.release(first_released_ == is_stepped_.size()
                            ? tensors_.size()
                            : tensors_.tensors()[first_released_].offset);
    }

    // Mixing

    void release_all() {
        if (left_ == duration{}) left_ = since_begun();
        mixing_.release_all();
        (void)mixing_.advance();
    }

    void serve() {
        if constexpr (survives) peers_.serve();
    }

    void wait() {
        if constexpr (survives) return peers_.wait_until([&] { return mixing_.advance(); });
        while (true) {
            const std::uint64_t seen = through_.activity();
            if (mixing_.advance()) return;
            through_.await(seen);
        }
    }

    /// The round that was begun, and more until the controller has enough; after the mean of all
    /// there is nothing to mix.
    void mix(round_report& report, stopwatch& watch) {
        consensus_report& found = report.consensus;
        for (found.rounds = 1;; ++found.rounds) {
            wait();
            mixing_.end();
            report.wait += watch.lap();
            const bool wants_another =
                control_.wants_another(mixing_, has_data_ ? std::optional(squares_) : std::nullopt,
                                       found, [&] { return distance(found); });
            if (!wants_another || sotto::mixing::wants_mean(method_)) break;
            mixing_.begin(next_, method_);
            mixing_.release_all();
        }
        found.change = mixing_.change();
        found.squared_changes = mixing_.squared_changes();
        report.exchange = since_begun() - left_;
        report.hidden = (std::max)(computed_ - left_, duration{});
        for (tensor_times& t : times_) t.arrived = t.decoded = since_begun();
    }

    /// Measured exactly.
    double distance(consensus_report& found) {
        const std::int64_t before = through_.counters().bytes_sent;
        found.distance = study_->distance(values(), by_shares ? next_.back() : 1.0, studied_++);
        found.squared_distances = study_->squared_distances();
        study_bytes_ += through_.counters().bytes_sent - before;
        return found.distance;
    }

    /// As parameters are: by shares what a rank has over its weight.
    std::span<const float> values() {
        if constexpr (by_shares) {
            std::ranges::copy(moved(), of_weight_.begin());
            kernels::scale(of_weight_, 1.0f / next_.back());
            return of_weight_;
        }
        return moved();
    }

    /// Measures exactly, where it is this step's turn.
    void study(consensus_report& found, std::span<const float> parameters) {
        found.learning_rate = rate_;
        if (!studies_) return;
        at("measure");
        if (is_nan(found.distance)) (void)distance(found);  // no controller has measured it
        const std::int64_t before = through_.counters().bytes_sent;
        found.critical = study_->critical_distance(parameters, has_data_, rate_, studied_++);
        study_bytes_ += through_.counters().bytes_sent - before;
        found.gradient_norm = study_->gradient_norm();
    }

    /// Nothing may fail from here on.
    void commit(std::span<float> parameters) noexcept {
        if constexpr (by_shares) {
            weight_ = next_.back();
            kernels::scale(moved(), 1.0f / next_.back());
        }
        sotto::mixing::settle(method_, parameters, moved(), rate_);
        std::copy(moved().begin(), moved().end(), parameters.begin());
        optimizing::commit(optimizer_);
        sotto::mixing::commit(method_);
        mixing_.commit();
        before_.drop();
        epochs_.end_round();
        if constexpr (survives) peers_.end_step();
    }

    void finish_report(round_report& report, const traffic& before) {
        const traffic after = through_.counters();
        report.compute = computing_;
        report.bytes_sent = after.bytes_sent - before.bytes_sent;
        report.bytes_received = after.bytes_received - before.bytes_received;
        report.study_bytes = study_bytes_;
        for (const std::int64_t size : mixing_.bytes()) report.message_bytes += size;
        report.tensor_message_bytes = mixing_.bytes();
        report.began = began_;
        report.agreed = report.ended = since_begun();
        report.tensor_times = times_;
    }

    std::span<float> moved() noexcept {
        return std::span(next_).first(static_cast<std::size_t>(tensors_.size()));
    }
    duration since_begun() const noexcept { return through_.now() - began_; }
    void at(const char* phase) {
        const peer_failure::job_phase now{.round = where_.step, .phase = phase};
        through_.at(now);
        if constexpr (survives) peers_.at(now);
    }
    static std::size_t slot(const tensor& t) noexcept { return static_cast<std::size_t>(t.index); }

    layout tensors_;
    transport_ref through_;
    method_state method_;
    optimizer_state optimizer_;
    state_snapshot before_;  // the optimizer's and the controller's
    std::int64_t measure_every_ = 0;
    std::string topology_name_;
    peers peers_;
    common_epochs epochs_;
    large_vector<float> gradient_;
    large_vector<float> next_;  // what the parameters become; by shares a rank's weight behind them
    large_vector<float> of_weight_;  // by shares, where it is measured exactly
    std::vector<tensor_times> times_;
    std::vector<bool> is_stepped_;
    std::size_t first_released_ = 0;  // this tensor and all behind it have been stepped
    round_info where_;
    time_point began_{};
    duration computing_{}, computed_{}, left_{};
    double rate_ = 0.0;
    double squares_ = 0.0;  // of the gradient
    bool has_data_ = true;  // in this step: else it has no gradient
    double weight_ = 1.0;
    std::uint64_t studied_ = 0;     // exact measurements
    std::int64_t study_bytes_ = 0;  // that those of a step took
    bool studies_ = false;
    // Last: transfers end before the memory goes.
    mixing_rounds<Options> mixing_;
    control control_;
    std::optional<consensus_study> study_;
};

}  // namespace sotto::detail
