#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/kernels/detail/nn/elementwise.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/strategies/detail/common_epochs.hpp"
#include "sotto/strategies/detail/gossip/state_snapshot.hpp"
#include "sotto/strategies/detail/with_rollback.hpp"
#include "sotto/strategies/detail/stopwatch.hpp"
#include "sotto/strategies/detail/gradient_cost.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// How far a rank has come since the last meeting, as the outer strategy sees it: a gradient.
class pseudo_gradient {
public:
    struct batch_type {};

    pseudo_gradient(const layout& tensors, std::span<const float> came)
        : tensors_(tensors), came_(came) {}

    const sotto::layout& layout() const noexcept { return tensors_; }
    void initialise(std::span<float>, random_stream) const noexcept {}
    work work_of(const batch_type&) const noexcept;

    /// From `from` on; the last tensor first.
    double gradient(std::span<const float> from, const batch_type&, std::span<float> out,
                    auto&& on_ready) {
        for (auto t = tensors_.tensors().rbegin(); t != tensors_.tensors().rend(); ++t) {
            kernels::difference(t->of(from), t->of(came_), t->of(out));
            on_ready(*t);
        }
        return 0.0;
    }

private:
    const sotto::layout& tensors_;
    std::span<const float> came_;
};

/// One rank's side of local_updates.
template <class Options>
class local_updates_state {
    using optimizer_options = std::remove_cvref_t<decltype(std::declval<Options>().optimizer)>;
    using optimizer_state =
        decltype(std::declval<const optimizer_options&>().bind(std::declval<const layout&>()));
    using outer_options = std::remove_cvref_t<decltype(std::declval<Options>().outer)>;
    using outer_state = strategy_state<outer_options>;

public:
    local_updates_state(const Options& options, const layout& tensors, transport_ref through)
        : tensors_(tensors),
          through_(through),
          every_(options.local.every),
          from_epoch_(options.local.from_epoch),
          optimizer_(options.optimizer.bind(tensors_)),
          gradient_(static_cast<std::size_t>(tensors.size())),
          met_(gradient_.size()),
          parameters_before_(gradient_.size()),
          no_bytes_(tensors.tensors().size()),
          epochs_(through),
          outer_(options.outer.bind(tensors_, through)) {
        before_.take(shown_before());  // the memory, now
        require_option("local_updates", "every", every_, allowed::at_least(1));
        require_option("local_updates", "from_epoch", from_epoch_, allowed::at_least(0.0));
    }

    data::share share() const noexcept { return {through_.rank(), through_.size()}; }

    epoch_agreement begin_epoch(const epoch_plan& plan) {
        // To the outer strategy all ranks count alike in every meeting, and its epoch never ends.
        if (!has_begun_) outer_.begin_epoch({.examples = std::int64_t{1} << 40});
        has_begun_ = true;
        return epochs_.begin(plan);
    }

    template <class Model>
    round_report round(round_input<Model>& job, std::span<float> parameters) {
        return detail::with_rollback(through_, [&] {
            if (has_met_ == 0) std::copy(parameters.begin(), parameters.end(), met_.begin());
            has_met_ = 1;
            return attempt(job, parameters);
        });
    }

    /// Meets once more where there were steps since the last time.
    round_report finish(std::span<float> parameters) {
        if (since_met_ == 0) return {};
        const round_report met = meet(parameters, last_);
        since_met_ = 0;
        return {.compress = met.compress,
                .wait = met.wait,
                .apply = met.apply,
                .exchange = met.exchange,
                .hidden = met.hidden,
                .message_bytes = met.message_bytes};
    }

    /// Everything to be saved, by name: each rank's own. Not there where something would be left
    /// out.
    template <class Field>
    void visit(Field&& field) requires(
        optimizing::can_be_saved<optimizer_options>&& visitable<outer_state>) {
        optimizing::visit(optimizer_, visitor_of_own(field, "optimizer/"));
        outer_.visit(visitor_of_own(field, "outer/"));
        const auto own = visitor_of_own(field, "local/");
        own("met", std::span<float>(met_));
        own("has_met", has_met_);
        own("since_met", since_met_);
        own("meetings", meetings_);
        own("last_step", last_.step);
        own("last_epoch", last_.epoch);
    }

    /// The outer strategy's state.
    outer_state& outer() noexcept { return outer_; }
    /// Meetings until now.
    std::int64_t meetings() const noexcept { return meetings_; }

private:
    template <class Model>
    round_report attempt(round_input<Model>& job, std::span<float> parameters) {
        const round_info where{job.step, job.epoch, through_.rank(), through_.size(), -1.0};
        const traffic before = through_.counters();
        const time_point began = through_.now();
        stopwatch watch(through_);
        round_report report{.examples = job.examples, .dense_bytes = 4 * tensors_.size()};

        at("compute", job.step);
        if (job.examples > 0) report.loss = compute(job, parameters);
        report.compute = watch.lap();

        const bool meets = since_met_ + 1 >= every_ || job.epoch < from_epoch_;
        if (meets) {  // the step goes with a meeting that fails
            before_.take(shown_before());
            std::copy(parameters.begin(), parameters.end(), parameters_before_.begin());
        }
        if (job.examples > 0) step(where, parameters);
        report.apply = watch.lap();

        round_report met;
        if (meets) met = meet_or_undo(parameters, where);
        since_met_ = meets ? 0 : since_met_ + 1;
        last_ = where;
        epochs_.end_round();

        report.compress = met.compress;
        report.wait = met.wait;
        report.apply += met.apply;
        report.exchange = met.exchange;
        report.hidden = met.hidden;
        report.message_bytes = met.message_bytes;
        report.tensor_message_bytes = meets ? met.tensor_message_bytes : no_bytes_;
        report.tensor_times = met.tensor_times;
        report.consensus = met.consensus;
        const traffic after = through_.counters();
        report.bytes_sent = after.bytes_sent - before.bytes_sent;
        report.bytes_received = after.bytes_received - before.bytes_received;
        report.began = began;
        report.agreed = report.ended = through_.now() - began;
        return report;
    }

    template <class Model>
    double compute(round_input<Model>& job, std::span<const float> parameters) {
        gradient_work computed(through_, job);
        const double loss = job.model.gradient(parameters, job.batch, std::span<float>(gradient_),
                                               [&](const tensor& t) { computed.is_ready(t); });
        computed.end();
        for (const tensor& t : tensors_) {
            const auto part = t.of(std::span<const float>(gradient_));
            if (!kernels::is_finite(kernels::sum_of_squares(part)))
                throw non_finite(through_.rank(), t.name, kernels::first_non_finite(part));
        }
        return loss;
    }

    void step(const round_info& where, std::span<float> parameters) {
        optimizer_.begin_step({.where = where}, std::span<const float>(gradient_));
        for (const tensor& t : tensors_)
            optimizer_.update(t, t.of(parameters), t.of(std::span<const float>(gradient_)));
        optimizing::commit(optimizer_);
    }

    round_report meet_or_undo(std::span<float> parameters, const round_info& where) {
        try {
            return meet(parameters, where);
        } catch (...) {
            std::copy(parameters_before_.begin(), parameters_before_.end(), parameters.begin());
            before_.put_back(shown_before());
            throw;
        }
    }

    round_report meet(std::span<float> parameters, const round_info& where) {
        detail::pseudo_gradient way(tensors_, parameters);
        const detail::pseudo_gradient::batch_type nothing;
        round_input<detail::pseudo_gradient> job{way, nothing, 1, meetings_, where.epoch};
        const round_report report = outer_.round(job, std::span<float>(met_));
        ++meetings_;
        std::copy(met_.begin(), met_.end(), parameters.begin());
        return report;
    }

    auto shown_before() noexcept {
        return [this](auto&& field) { optimizing::visit(optimizer_, field); };
    }

    void at(const char* phase, std::int64_t step) { through_.at({.round = step, .phase = phase}); }

    layout tensors_;
    transport_ref through_;
    std::int64_t every_;
    double from_epoch_;
    optimizer_state optimizer_;
    state_snapshot before_;  // the optimizer's
    large_vector<float> gradient_;
    large_vector<float> met_;  // theta: what all went on from
    large_vector<float> parameters_before_;
    std::vector<std::int64_t> no_bytes_;
    common_epochs epochs_;
    std::int64_t since_met_ = 0;  // steps
    std::int64_t meetings_ = 0;
    round_info last_;
    bool has_begun_ = false;
    std::int64_t has_met_ = 0;  // 0 or 1
    outer_state outer_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/local_updates/local_updates_state.ipp"
#endif
