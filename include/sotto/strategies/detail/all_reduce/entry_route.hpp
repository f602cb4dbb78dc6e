#pragma once

#include <cstdint>

#include "sotto/collectives/detail/choose_sparse.hpp"
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/all_reduce/exchange_ways.hpp"
#include "sotto/strategies/detail/all_reduce/message_codec.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail {

/// The way that the entries of one tensor take by a collective: for the strategy that sends them,
/// and for whoever predicts what it sends. It follows from sizes, densities and the number of ranks
/// alone, by choose_sparse and is_dense_shorter.
class entry_route {
    using sparse_way = collectives::sparse_way;

public:
    /// Whether entries may take another way than everybody's message to everybody.
    static bool chooses(const message_codec& codec, const exchange_ways& ways) noexcept;
    /// Whether sums of entries may be selected from once more. A sum of which a part waits is no
    /// sum to what ranks keep of all messages by themselves.
    static bool reselects(const message_codec& codec, const exchange_ways& ways) noexcept;

    entry_route() = default;
    /// Of one tensor among so many ranks.
    entry_route(const tensor& t, const message_codec& codec, int world, const exchange_ways& ways);

    /// In rounds in which a dense sum is not shorter.
    sparse_way while_sparse() const noexcept { return while_sparse_; }

    /// Whether there can be rounds in which it is.
    bool may_be_dense() const noexcept { return is_dense(entries_max_); }
    /// Whether it is in this round.
    bool is_dense_now(const message_codec& codec, const tensor& t) const {
        return is_dense(entries_now(codec, t));
    }

    /// What a rank sends in this round at most, and the sums of all ranks that are to be kept.
    std::int64_t entries_now(const message_codec& codec, const tensor& t) const {
        return plans_ ? codec.entries_planned(t) : entries_max_;
    }
    /// The sums that are to be kept.
    std::int64_t kept_now(const message_codec& codec, const tensor& t) const;

    /// The operation for while_sparse() == reduce_scatter; of `size` elements, if these are not
    /// the tensor's.
    collectives::sparse_all_reduce bind(transport_ref through, std::int64_t size) const;
    collectives::sparse_all_reduce bind(transport_ref through) const;

private:
    bool is_dense(std::int64_t entries) const noexcept;

    std::int64_t size_ = 0;
    std::int64_t entries_max_ = 0;
    int world_ = 1;
    bool plans_ = false;
    wire::value_format format_ = wire::value_format::fp32;
    sparse_way while_sparse_ = sparse_way::gather;
    sotto::collectives::sparse_reduce_scatter asked_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/all_reduce/entry_route.ipp"
#endif
