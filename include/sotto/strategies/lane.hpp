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

#include "sotto/collectives/all_gather_v.hpp"
#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/fitting.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/arithmetic.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto {

/// The way of one tensor's gradient to all ranks and back: a sum of payloads where the compressor
/// can be summed, else everybody's message, decoded in the order of the ranks.
template <class Compressor, class Collective, class Transport>
class lane {
    using state = state_of<Compressor>;
    using gather_options = std::conditional_t<std::is_same_v<Collective, collectives::all_gather>,
                                              Collective, collectives::all_gather>;
    using sum_options =
        std::conditional_t<collectives::summing<Collective>, Collective, collectives::automatic>;
    using gathering = decltype(std::declval<gather_options>().bind(std::declval<Transport&>(), 0));
    using summing = decltype(std::declval<sum_options>().bind(std::declval<Transport&>(), 0));

public:
    /// `options` are the strategy's: g++ 12 takes a reference to its collective, which often has no
    /// members, for one to memory that was never written.
    template <class Options>
    lane(const tensor& t, const Options& options, const state& compressor, Transport& through)
        : tensor_(t), world_(through.size()) {
        if (t.size == 0) return;
        if constexpr (packs<Compressor>) {
            constexpr bool gathers = std::is_same_v<Collective, collectives::all_gather>;
            if (compressor.sums(t) && !(gathers && compressing::gathers(compressor, t))) {
                payload_.resize(static_cast<std::size_t>(t.size));
                format_ = payload_format(compressor, t);
                sum_.emplace(chosen<sum_options>(options).bind(through, t.size, format_));
                return;
            }
        }
        bytes_max_ = compressing::message_bytes_max(compressor, t);
        message_.reserve(static_cast<std::size_t>(bytes_max_));
        // Sparse sums are applied entry by entry while that touches less memory than a pass over
        // the tensor.
        if constexpr (sparse<Compressor>) {
            touched_.reserve(static_cast<std::size_t>(t.size / 4));
            run_ends_.reserve(static_cast<std::size_t>(world_));
        }
        gather_.emplace(chosen<gather_options>(options).bind(through, bytes_max_));
    }

    /// Compresses and sends; returns the bytes that the gradient became.
    std::int64_t send(state& compressor, std::span<const float> gradient, std::int64_t round) {
        if constexpr (packs<Compressor>)
            if (sum_) {
                const auto payload = payload_of(compressor);
                compressor.pack(tensor_, gradient, payload);
                sum_->start(payload, label(channels::sums, round));
                return static_cast<std::int64_t>(payload.size()) * wire::bytes_per_value(format_);
            }
        if (!gather_) return 0;
        message_.clear();
        compressor.encode(tensor_, gradient, message_);
        const auto size = static_cast<std::int64_t>(message_.size());
        if (size > bytes_max_)
            throw invalid_option("all_reduce: the compressor wrote " + std::to_string(size) +
                                 " bytes for tensor '" + tensor_.name +
                                 "' where its message_bytes_max allows " +
                                 std::to_string(bytes_max_));
        gather_->start(message_, label(channels::messages, round));
        return size;
    }

    /// Takes part without a gradient.
    void send_nothing(state& compressor, std::int64_t round) {
        if constexpr (packs<Compressor>)
            if (sum_) {
                const auto payload = payload_of(compressor);
                std::fill(payload.begin(), payload.end(), 0.0f);
                sum_->start(payload, label(channels::sums, round));
                return;
            }
        if (gather_) gather_->start({}, label(channels::messages, round));
    }

    bool advance() {
        if (sum_) return sum_->advance();
        return !gather_ || gather_->advance();
    }

    /// What all ranks sent, added up. For gathered tensors `sum` is all zero beforehand.
    void decode(state& compressor, std::span<float> sum) {
        if constexpr (packs<Compressor>)
            if (sum_) {
                compressor.unpack(tensor_, payload_of(compressor), sum);
                return require_finite(sum);
            }
        if (!gather_) return;
        touched_.clear();
        run_ends_.clear();
        entry_by_entry_ = sparse<Compressor>;
        for (int rank = 0; rank < world_; ++rank) {
            const byte_view message = gather_->block_of(rank);
            if (message.empty()) continue;  // from a rank without data
            if constexpr (sparse<Compressor>)
                add(compressor.decode(tensor_, message), sum);
            else
                compressor.decode_add(tensor_, message, sum);
        }
        if (!entry_by_entry_) require_finite(sum);
    }

    template <class Optimizer>
    void apply(Optimizer& optimizer, bool sparsely, std::span<float> parameters,
               std::span<float> sum) {
        if (gather_ && sparsely && entry_by_entry_) {
            if constexpr (requires { optimizer.update_at(tensor_, parameters, sum, touched_); }) {
                // An index that two ranks sent comes twice; the second time its sum is zero.
                std::size_t from = 0;
                for (const std::size_t to : run_ends_) {
                    const auto indices =
                        std::span<const std::uint32_t>(touched_).subspan(from, to - from);
                    optimizer.update_at(tensor_, parameters, sum, indices);
                    for (const std::uint32_t i : indices) sum[i] = 0.0f;
                    from = to;
                }
                return;
            }
        }
        optimizer.update(tensor_, parameters, sum);
        if (gather_) std::fill(sum.begin(), sum.end(), 0.0f);
    }

private:
    template <class Wanted, class Options>
    static Wanted chosen(const Options& options) {
        if constexpr (std::is_same_v<Wanted, Collective>)
            return options.collective;
        else
            return Wanted{};
    }

    static wire::value_format payload_format(const state& compressor, const tensor& t) {
        if constexpr (requires { compressor.payload_format(t); })
            return compressor.payload_format(t);
        else
            return wire::value_format::fp32;
    }

    tag label(std::uint32_t channel, std::int64_t round) const noexcept {
        return {channel, static_cast<std::uint32_t>(tensor_.index),
                static_cast<std::uint64_t>(round)};
    }

    std::span<float> payload_of(const state& compressor) {
        return std::span(payload_).first(
            static_cast<std::size_t>(compressor.payload_size(tensor_)));
    }

    void add(const sparse_view& entries, std::span<float> sum) {
        bool finite = true;
        for (std::size_t j = 0; j < entries.indices.size(); ++j) {
            const std::uint32_t i = entries.indices[j];
            if (i >= sum.size())
                throw malformed("the message for tensor '" + tensor_.name + "'",
                                {.expected = "an index below the tensor's size", .found = i});
            sum[i] += entries.values[j];
            finite &= kernels::is_finite(sum[i]);
        }
        if (!finite) require_finite(sum);
        if (touched_.size() + entries.indices.size() > touched_.capacity()) entry_by_entry_ = false;
        if (!entry_by_entry_) return;
        touched_.insert(touched_.end(), entries.indices.begin(), entries.indices.end());
        run_ends_.push_back(touched_.size());
    }

    void require_finite(std::span<const float> sum) const {
        if (const std::int64_t i = kernels::first_non_finite(sum); i >= 0) refuse(i);
    }

    [[noreturn]] void refuse(std::int64_t index) const {
        throw error(errc::non_finite, "the sum over all ranks is not finite: tensor '" +
                                          tensor_.name + "', element " + std::to_string(index));
    }

    tensor tensor_;
    int world_;
    std::vector<float> payload_;
    wire::value_format format_ = wire::value_format::fp32;
    bytes message_;
    std::int64_t bytes_max_ = 0;
    std::vector<std::uint32_t>
        touched_;  // indices that messages of this round hold, rank after rank
    std::vector<std::size_t> run_ends_;  // where each rank's end: within one run no index repeats
    bool entry_by_entry_ = false;
    std::optional<summing> sum_;  // these two last: their transfers end before the memory goes
    std::optional<gathering> gather_;
};

}  // namespace sotto
