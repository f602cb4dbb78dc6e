#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/detail/sparse_all_reduce.hpp"
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/all_reduce/entry_route.hpp"
#include "sotto/strategies/detail/all_reduce/exchange_ways.hpp"
#include "sotto/strategies/detail/all_reduce/message_codec.hpp"
#include "sotto/strategies/detail/all_reduce/bucket.hpp"
#include "sotto/strategies/detail/all_reduce/sum_operation.hpp"
#include "sotto/strategies/detail/all_reduce/tensor_exchange.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail {

/// A sum of payloads where the compressor can be summed, or several sums one after the other, each
/// begun as soon as the one before has come; or one sum of several tensors' payloads together; else
/// everybody's message, decoded in the order of the ranks. Messages of entries go as choose_sparse
/// and is_dense_shorter say, or as was asked for.
class flat_exchange final : public tensor_exchange {
    enum class way : std::uint8_t { nothing, sum, gather, reselection, dense };

public:
    /// Whether a tensor goes as a sum of payloads.
    static bool is_summed(const message_codec& codec, const exchange_ways& ways, const tensor& t);

    /// `gives`: of each rank, whether it has a gradient in the round under way; another one may
    /// send nothing. It is borrowed, and so is the codec.
    flat_exchange(const tensor& t, const exchange_ways& ways, message_codec& codec,
                  transport_ref through, const std::vector<std::uint8_t>& gives,
                  bucket* group = nullptr);

    const bucket* together() const noexcept override { return shared_; }
    std::int64_t send(std::span<const float> gradient, std::int64_t round) override;
    bool weighs() const noexcept override;
    std::int64_t send_weighted(std::span<const float> gradient, float weight,
                               std::int64_t round) override;
    std::int64_t send_nothing(std::span<const float> zeros, std::int64_t round) override;
    bool advance() override;
    void abandon() noexcept override;
    void decode(std::span<float> sum) override;
    outcome take_outcome() noexcept override;

private:
    std::int64_t send_message(std::int64_t round);

    tag label(std::uint32_t channel, std::int64_t round) const noexcept;

    std::span<float> first_payload(std::int64_t round, bool has_gradient);

    void start_sum(std::int64_t round);

    /// Behind the sum of the one before, which is read while it is made.
    void start_next();

    std::span<float> room_after(std::size_t start, std::size_t size);

    std::size_t size_of_payload(int number) const;

    std::int64_t payload_bytes() const;

    /// Settles which way entries go while they are sparse, and takes memory for dense rounds if
    /// there can be any.
    void bind_entries(const exchange_ways& ways, transport_ref through);

    bool gathers_now();

    void start_entries(const sparse_view& entries, std::int64_t round);

    void add_messages(std::span<float> sum);

    void add_sums(std::span<float> sum);

    void add(const sparse_view& entries, std::span<float> sum);

    void require_finite(std::span<const float> sum) const;

    [[noreturn]] void refuse(std::int64_t index) const;

    message_codec& codec_;
    transport_ref through_;
    const std::vector<std::uint8_t>* gives_;
    int world_;
    bool chooses_ = false;             // which way entries take
    way way_ = way::nothing;           // of this round
    way while_sparse_ = way::nothing;  // of rounds in which a dense sum is not shorter
    entry_route route_;
    std::vector<float> payloads_;  // of a round, one behind the other
    std::span<float> payload_;     // the one that is being summed, or was last
    int payload_count_ = 1;        // in this round
    int payloads_left_ = 0;        // to be started
    bool has_gradient_ = false;
    std::int64_t round_ = 0;
    wire::value_format format_ = wire::value_format::fp32;
    bucket* shared_ = nullptr;
    bytes message_;
    std::int64_t bytes_max_ = 0;
    std::vector<std::uint32_t>
        touched_;  // indices that messages of this round hold, rank after rank
    std::vector<std::size_t> run_ends_;  // where each rank's end: within one run no index repeats
    bool entry_by_entry_ = false;
    std::optional<sum_operation> sum_;  // from here on last: transfers end before the memory goes
    std::optional<collectives::all_gather_v> gather_;
    std::optional<collectives::sparse_all_reduce> reselection_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/all_reduce/flat_exchange.ipp"
#endif
