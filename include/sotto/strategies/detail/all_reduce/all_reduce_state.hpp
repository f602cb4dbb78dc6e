#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "sotto/collectives/hierarchical.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/strategies/detail/all_reduce/exchange_ways.hpp"
#include "sotto/strategies/detail/all_reduce/gradient_exchange.hpp"
#include "sotto/strategies/detail/all_reduce/message_codec.hpp"
#include "sotto/strategies/detail/with_rollback.hpp"
#include "sotto/strategies/detail/stopwatch.hpp"
#include "sotto/strategies/detail/gradient_cost.hpp"
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

    static_assert(!std::is_same_v<collective_options, sotto::collectives::sparse_reduce_scatter> ||
                      (takes_back<compressor_options> &&
                       !compressing::has_after_sum<compressor_state>),
                  "all_reduce: collectives::sparse_reduce_scatter needs a sparse compressor that "
                  "takes entries back and does not keep the sum of all messages by itself");
    static_assert(!hierarchical || !compressing::has_after_sum<compressor_state>,
                  "all_reduce: this compressor keeps the sum of all messages on every rank, but in "
                  "a hierarchy only the first rank of a host gets messages: leave "
                  "collectives::hierarchical out");

public:
    all_reduce_state(const Options& options, const layout& tensors, transport_ref through)
        : tensors_(tensors),
          compressor_(options.compressor.bind(tensors_)),
          optimizer_(options.optimizer.bind(tensors_)),
          codec_(compressor_),
          exchange_(tensors_, through, codec_, ways_of(options.collective), options.bucket_bytes,
                    hosts_of(options)) {
        optimizing::follow_momentum(optimizer_, compressing::momentum(compressor_));
    }

    data::share share() const noexcept {
        return {exchange_.through().rank(), exchange_.through().size()};
    }

    int sender_for(int rank) const { return exchange_.sender_for(rank); }

    epoch_agreement begin_epoch(const epoch_plan& plan) { return exchange_.begin_epoch(plan); }

    template <class Model>
    round_report round(round_input<Model>& job, std::span<float> parameters) {
        return detail::with_rollback(
            exchange_.through(), [&] { return attempt(job, parameters); },
            [this]() noexcept { undo(); });
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
    static std::optional<sotto::collectives::hierarchical> hosts_of(
        [[maybe_unused]] const Options& options) {
        if constexpr (hierarchical)
            return options.collective;
        else
            return std::nullopt;
    }

    template <class Model>
    round_report attempt(round_input<Model>& job, std::span<float> parameters) {
        const round_info where = exchange_.info_of_round(job.step, job.epoch, job.examples);
        const traffic before = exchange_.through().counters();
        stopwatch watch(exchange_.through());
        compressing::begin_round(compressor_, exchange_.as_worker(where));
        exchange_.begin(where);

        round_report report{.examples = job.examples};
        if (job.examples > 0)
            report.loss = compute(job, parameters, static_cast<float>(where.share), watch);
        else
            exchange_.take_part();
        report.compress += watch.lap();

        exchange_.at("exchange");
        exchange_.wait();
        report.wait += watch.lap();

        exchange_.decode();
        report.compress += watch.lap();

        optimizer_.begin_step({.where = where}, exchange_.sum());
        report.apply = watch.lap();

        exchange_.agree();
        report.wait += watch.lap();

        commit(parameters);
        report.apply += watch.lap();
        exchange_.report_costs(report, before);
        return report;
    }

    template <class Model>
    double compute(round_input<Model>& job, std::span<const float> parameters, float weight,
                   stopwatch& watch) {
        gradient_work computed(exchange_.through(), job);
        const double loss =
            job.model.gradient(parameters, job.batch, exchange_.gradient(), [&](const tensor& t) {
                computed.is_ready(t);
                exchange_.announce(t, weight, watch);
            });
        computed.end();
        exchange_.all_ready(weight, watch);
        detail::use_the_time(job.model, [this] { exchange_.use_time(); });
        exchange_.end_computing(watch);
        return loss;
    }

    void undo() noexcept {
        compressing::rollback(compressor_);
        exchange_.undo();
    }

    /// Every rank has voted for the round: nothing may fail from here on.
    void commit(std::span<float> parameters) noexcept {
        exchange_.apply(optimizer_, optimizing::updates_sparsely(optimizer_), parameters);
        optimizing::commit(optimizer_);
        compressing::commit(compressor_);
        exchange_.end_round();
    }

    layout tensors_;
    compressor_state compressor_;
    optimizer_state optimizer_;
    codec_of<compressor_options> codec_;
    gradient_exchange exchange_;  // last: its transfers end before the memory goes
};

}  // namespace sotto::detail
