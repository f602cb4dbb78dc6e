#pragma once

#include <cstdint>
#include <type_traits>

#include "sotto/collectives/detail/choose_sparse.hpp"
#include "sotto/collectives/detail/fitting.hpp"
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail {

/// The way that the entries of one tensor take by a collective: for the strategy that sends them,
/// and for whoever predicts what it sends. It follows from sizes, densities and the number of ranks
/// alone, by choose_sparse and is_dense_shorter.
template <class Compressor, class Collective>
class entry_route {
    using state = state_of<Compressor>;
    using sparse_way = collectives::sparse_way;

public:
    /// Whether sparse_reduce_scatter was asked for.
    static constexpr bool scatters =
        std::is_same_v<Collective, sotto::collectives::sparse_reduce_scatter>;
    /// Whether entries may take another way than everybody's message to everybody.
    static constexpr bool chooses =
        sparse<Compressor> && (scatters || std::is_same_v<Collective, collectives::fitting>);
    /// A sum of which a part waits is no sum to what ranks keep of all messages by themselves.
    static constexpr bool reselects =
        chooses && takes_back<Compressor> && !compressing::has_after_sum<state>;

    entry_route() = default;
    /// Of one tensor among so many ranks.
    entry_route(const tensor& t, const state& compressor, int world,
                sotto::collectives::sparse_reduce_scatter asked = {})
        : size_(t.size), world_(world), asked_(asked) {
        if constexpr (chooses) {
            entries_max_ = compressor.entries_max(t);
            format_ = compressing::entry_format(compressor, t);
        }
        if constexpr (reselects) {
            constexpr bool plans = compressing::plans_entries<state>;
            if (scatters || collectives::choose_sparse(size_, entries_max_, world_, plans,
                                                       format_) == sparse_way::reduce_scatter)
                while_sparse_ = sparse_way::reduce_scatter;
        }
    }

    /// In rounds in which a dense sum is not shorter.
    sparse_way while_sparse() const noexcept { return while_sparse_; }

    /// Whether there can be rounds in which it is.
    bool may_be_dense() const noexcept { return is_dense(entries_max_); }
    /// Whether it is in this round.
    bool is_dense_now(const state& compressor, const tensor& t) const {
        return is_dense(entries_now(compressor, t));
    }

    /// What a rank sends in this round at most, and the sums of all ranks that are to be kept.
    std::int64_t entries_now([[maybe_unused]] const state& compressor,
                             [[maybe_unused]] const tensor& t) const {
        if constexpr (chooses && compressing::plans_entries<state>)
            return compressor.entries_planned(t);
        else
            return entries_max_;
    }
    /// The sums that are to be kept.
    std::int64_t kept_now(const state& compressor, const tensor& t) const {
        return asked_.kept_of(entries_now(compressor, t), size_);
    }

    /// The operation for while_sparse() == reduce_scatter; of `size` elements, if these are not
    /// the tensor's.
    auto bind(transport_ref through, std::int64_t size) const {
        return asked_.bind(through, size, entries_max_, format_);
    }
    auto bind(transport_ref through) const { return bind(through, size_); }

private:
    bool is_dense(std::int64_t entries) const noexcept {
        if constexpr (chooses && compressing::plans_entries<state>)
            return collectives::is_dense_shorter(while_sparse_, size_, entries,
                                                 asked_.kept_at_most(entries, size_, world_),
                                                 world_, format_);
        else
            return false;
    }

    std::int64_t size_ = 0;
    std::int64_t entries_max_ = 0;
    int world_ = 1;
    wire::value_format format_ = wire::value_format::fp32;
    sparse_way while_sparse_ = sparse_way::gather;
    sotto::collectives::sparse_reduce_scatter asked_;
};

}  // namespace sotto::detail
