#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/detail/choose_sparse.hpp"
#include "sotto/collectives/detail/fitting.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/collectives/detail/sparse_all_reduce.hpp"
#include "sotto/collectives/detail/stripes.hpp"
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/sparse_add.hpp"
#include "sotto/report/advice.hpp"
#include "sotto/report/detail/advice/advice_mirror.hpp"
#include "sotto/strategies/detail/all_reduce/entry_route.hpp"
#include "sotto/strategies/detail/all_reduce/exchange_ways.hpp"
#include "sotto/strategies/detail/all_reduce/message_codec.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail {

/// How compressors are measured.
struct calibration_options {
    int rounds = 5;          // measured rounds of each, after two others; the median counts
    std::uint64_t seed = 1;  // seed of the random gradients
    double epoch = 1e6;      // passes over the data before these rounds: after any warm-up
    /// Clock that times the rounds.
    time_point (*now)() = [] { return std::chrono::steady_clock::now(); };
};

/// Runs one compressor on one rank, as all_reduce does it with `fitting`. It measures time and sent
/// bytes without a network.
template <class Compressor>
class calibration {
    using exchange = collectives::sparse_all_reduce;

public:
    calibration(const Compressor& options, const layout& tensors, int world)
        : tensors_(tensors),
          world_(world),
          state_(options.bind(tensors_)),
          sum_(static_cast<std::size_t>(tensors.size())),
          others_(world) {
        std::int64_t largest = 0;
        for (const tensor& t : tensors_) largest = (std::max)(largest, t.size);
        payload_.resize(static_cast<std::size_t>(largest));
        const exchange_ways ways = ways_of(collectives::fitting{});
        for (const tensor& t : tensors_) {
            entries& e = entries_.emplace_back();
            if (t.size == 0 || is_summed(t)) continue;
            e.way = entry_route(t, codec(), world_, ways);
            // Sized for whole groups of stripes: the returned places exist on every rank.
            if (e.way.while_sparse() == collectives::sparse_way::reduce_scatter)
                e.sums = std::make_unique<exchange>(e.way.bind(
                    others_, collectives::stripes(t.size, world_).places() * std::int64_t{world_}));
        }
    }

    /// Does one round as all_reduce does it, and adds its messages to `way`.
    void round(std::int64_t number, double epoch, std::span<const float> gradient,
               way_to_send& way) {
        way.message_bytes = 0.0;
        way.transfer = {};
        way.reselects = false;
        compressing::begin_round(state_, {.step = number, .epoch = epoch, .world_size = world_});
        compressing::measure(state_, tensors_, gradient);
        for (const tensor& t : tensors_) {
            if (t.size == 0) continue;
            const auto part = t.of(gradient);
            const auto sum = t.of(std::span(sum_));
            if (is_summed(t))
                sum_up(t, part, sum, way);
            else
                exchange_message(t, part, sum, way);
        }
        compressing::commit(state_);
    }

private:
    /// The exchange of a tensor that is not summed.
    struct entries {
        entry_route way;
        std::unique_ptr<exchange> sums;  // set if entries are selected again
    };

    codec_of<Compressor> codec() noexcept { return codec_of<Compressor>(state_); }

    bool is_summed(const tensor& t) const {
        if constexpr (packs<Compressor>)
            return state_.sums(t);
        else
            return false;
    }

    void exchange_message(const tensor& t, std::span<const float> part, std::span<float> sum,
                          way_to_send& way) {
        message_.clear();
        encode(t, part);
        if constexpr (compressing::has_after_sum<state_of<Compressor>>)
            std::fill(sum.begin(), sum.end(), 0.0f);
        entries& e = entries_[static_cast<std::size_t>(t.index)];
        if (e.way.is_dense_now(codec(), t))
            add_densely(t, sum, way);
        else if (e.sums)
            select_again(t, e, sum, way);
        else
            gather(t, sum, way);
        compressing::after_sum(state_, t, sum);
    }

    void gather(const tensor& t, std::span<float> sum, way_to_send& way) {
        for (int rank = 0; rank < world_; ++rank) state_.decode_add(t, message_, sum);
        const auto size = static_cast<double>(message_.size());
        const std::int64_t size_max = compressing::message_bytes_max(state_, t);
        way.message_bytes += size;
        way.transfer += all_gather_cost(size, world_, collectives::goes_around_ring(size_max));
    }

    void add_densely(const tensor& t, std::span<float> sum, way_to_send& way) {
        if constexpr (sparse<Compressor>) {
            const auto values = std::span(payload_).first(sum.size());
            std::fill(values.begin(), values.end(), 0.0f);
            const sparse_view own = state_.decode(t, message_);
            for (std::size_t j = 0; j < own.indices.size(); ++j)
                values[own.indices[j]] = own.values[j];
            add_up(values, wire::value_format::fp32, sum, way);
            std::copy(values.begin(), values.end(), sum.begin());
        }
    }

    /// The other ranks' entries are this rank's own, moved to places that those ranks own.
    void select_again(const tensor& t, entries& e, std::span<float> sum, way_to_send& way) {
        if constexpr (takes_back<Compressor>) {
            const sparse_view own = state_.decode(t, message_);
            const std::int64_t before = others_.counters().bytes_sent;
            e.sums->start({own.indices, own.values}, e.way.kept_now(codec(), t), {});
            collectives::run(others_, *e.sums);
            const auto within = [&](const kernels::sparse_values& found) {
                const auto end =
                    std::lower_bound(found.indices.begin(), found.indices.end(), sum.size());
                return static_cast<std::size_t>(end - found.indices.begin());
            };
            for (int rank = 0; rank < world_; ++rank) {
                const kernels::sparse_values kept = e.sums->sums_of(rank);
                for (std::size_t j = 0, end = within(kept); j < end; ++j)
                    sum[kept.indices[j]] += kept.values[j];
            }
            const kernels::sparse_values left = e.sums->left();
            const std::size_t end = within(left);
            state_.take_back(t, left.indices.first(end), left.values.first(end));
            way.message_bytes += static_cast<double>(message_.size());
            way.reselects = true;
            const bool around = collectives::goes_around_ring(e.sums->sums_bytes_max());
            way.transfer +=
                transfer_cost{static_cast<double>(others_.counters().bytes_sent - before),
                              1.0 + all_gather_cost(0.0, world_, around).messages};
        }
    }

    void encode(const tensor& t, std::span<const float> part) {
        if constexpr (compressing::encodes_weighted<state_of<Compressor>>)
            if (state_.weighs(t)) return state_.encode_weighted(t, part, 1.0f, message_);
        state_.encode(t, part, message_);
    }

    void sum_up(const tensor& t, std::span<const float> part, std::span<float> sum,
                way_to_send& way) {
        if constexpr (packs<Compressor>) {
            auto values = payload(t, 0, 0);
            const wire::value_format format = compressing::payload_format(state_, t);
            state_.pack(t, part, values);
            add_up(values, format, sum, way);
            std::size_t end = values.size();
            for (int number = 1; number < compressing::payload_count(state_, t); ++number) {
                const auto next = payload(t, number, end);
                compressing::pack_next(state_, t, number, values, next);
                add_up(next, format, sum, way);
                end += next.size();
                values = next;
            }
            state_.unpack(t, values, sum);
        }
    }

    std::span<float> payload(const tensor& t, int number, std::size_t start) {
        return std::span(payload_).subspan(
            start, static_cast<std::size_t>(compressing::payload_size(state_, t, number)));
    }

    /// The arithmetic of a collective's sum: a rank adds all arriving values except one part in N.
    /// With two bytes a value, it also converts twice as many to halves and back.
    void add_up(std::span<float> values, wire::value_format format, std::span<float> sum,
                way_to_send& way) {
        const auto passed =
            values.first(values.size() - values.size() / static_cast<std::size_t>(world_));
        if (world_ > 1) {
            if (format != wire::value_format::fp32)
                for (int phase = 0; phase < 2; ++phase) {
                    message_.clear();
                    sotto::wire::append_values(format, passed, message_);
                    (void)sotto::wire::read_values(format, message_, passed).value("calibration");
                }
            kernels::add(sum.first(passed.size()), passed);
        }
        const auto count = static_cast<std::int64_t>(values.size());
        way.message_bytes += static_cast<double>(count * sotto::wire::bytes_per_value(format));
        way.transfer += all_reduce_cost(count, world_, format);
    }

    layout tensors_;
    int world_;
    state_of<Compressor> state_;
    std::vector<float> sum_;
    std::vector<float> payload_;
    bytes message_;
    mirror others_;
    std::vector<entries> entries_;  // by tensor index; last, so transfers end before the memory
};

}  // namespace sotto::detail

namespace sotto {

/// Measures on this machine what a compressor costs a rank that exchanges with
/// collectives::fitting: encoding its own gradient, and decoding the messages of all N ranks or
/// adding up its share of their entries. Gradients are normally distributed random numbers.
///   cost    rounds + 2 rounds; 16 bytes a weight besides the compressor's own memory. If entries
///           are selected again, also the memory of a sparse_all_reduce for each tensor
///   errors  invalid_option: no rounds, no ranks, no weights; exceptions of the compressor's bind
template <sotto::compressor Compressor>
detail::way_to_send calibrate(std::string name, const Compressor& options, const layout& tensors,
                              int world_size, detail::calibration_options how = {}) {
    require_option("calibrate", "rounds", how.rounds,
                   detail::allowed::at_least(1).at_most(1'000'000));
    require_option("calibrate", "world_size", world_size, detail::allowed::at_least(1));
    require_option("calibrate", "epoch", how.epoch, detail::allowed::at_least(0.0));
    if (tensors.size() == 0) throw invalid_option("calibrate: the layout has no weights");
    std::vector<float> gradient(static_cast<std::size_t>(tensors.size()));
    random_stream random(how.seed);
    const double scale = 0.01 / world_size;  // share of one rank in the mean
    for (float& g : gradient) g = static_cast<float>(scale * random.normal());
    detail::way_to_send way{.name = std::move(name)};
    detail::calibration<Compressor> work(options, tensors, world_size);
    std::vector<double> seconds;
    constexpr int unmeasured = 2;  // first rounds allocate memory and fill residuals
    for (int round = 0; round < unmeasured + how.rounds; ++round) {
        const time_point start = how.now();
        work.round(round, how.epoch, gradient, way);
        if (round >= unmeasured) seconds.push_back(in_seconds(how.now() - start));
    }
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    way.compress_seconds = *middle;
    return way;
}

/// Calibrates whole gradients, halves, and top-k with a residual and DGC at 10 %, 1 % and 0.1 %.
/// Sparse values are sent as fp16; DGC is measured after its warm-up.
std::vector<detail::way_to_send> usual_ways(const layout& tensors, int world_size,
                                            detail::calibration_options how = {});

/// "Does it pay here?" for the usual ways to send, measured on this machine.
///   errors  as the other advise; invalid_option: tensors without a weight; see calibrate
advice advise(double compute_seconds, const network_link& link, int world_size,
              const layout& tensors, detail::calibration_options how = {});

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/advice_calibration.ipp"
#endif
