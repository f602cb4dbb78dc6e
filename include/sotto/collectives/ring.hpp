#pragma once

#include <cstdint>

#include "sotto/collectives/detail/plan.hpp"
#include "sotto/collectives/detail/planned.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::collectives {

/// Partial sums travel once around a ring, then the sums travel around it.
///   math    N ranks, N parts. Part c starts at rank c+1 and arrives complete at rank c: ((x[c+1] +
///           x[c+2]) + x[c+3]) + ... + x[c], ranks modulo N
///   cost    N-1 steps for the sums, N-1 to spread them. In each phase a rank sends all parts
///           except one: (N-1)/N of the values when N divides them. No algorithm sends less
///   source  Patarasuk and Yuan 2009, Bandwidth optimal all-reduce algorithms for clusters of
///           workstations
class ring_plan {
public:
    static constexpr bool adds = true;
    /// Phases of the ring.
    ///   both            sums, then spreads the sums to all ranks
    ///   reduce_scatter  only sums
    ///   all_gather      only spreads the sums
    enum class phases : std::uint8_t { both, reduce_scatter, all_gather };

    /// Plan of one rank in a world of this size.
    constexpr ring_plan(int rank, int world, phases which = phases::both) noexcept
        : rank_(rank), world_(world), which_(which) {}

    constexpr void begin(std::int64_t n) noexcept { n_ = n; }
    constexpr int steps() const noexcept { return (which_ == phases::both ? 2 : 1) * (world_ - 1); }

    constexpr step at(int k) const noexcept {
        const bool summing = which_ != phases::all_gather && k < world_ - 1;
        const int hop = summing ? k : which_ == phases::both ? k - (world_ - 1) : k;
        const int first = summing ? rank_ - 1 : rank_;
        const arrival how = !summing            ? arrival::replace
                            : hop == world_ - 2 ? arrival::add_last
                                                : arrival::add;
        return {wrapped(rank_ + 1), part(first - hop), wrapped(rank_ - 1), part(first - hop - 1),
                how};
    }

private:
    constexpr int wrapped(int rank) const noexcept { return (rank + 2 * world_) % world_; }
    constexpr range part(int index) const noexcept { return part_of(n_, world_, wrapped(index)); }

    int rank_;
    int world_;
    phases which_;
    std::int64_t n_ = 0;
};

}  // namespace sotto::detail::collectives

namespace sotto::collectives {

/// All-reduce with this plan, see planned.
using ring_all_reduce = detail::collectives::planned<detail::collectives::ring_plan>;

/// Sums by a ring: the fewest bytes, in 2(N-1) steps. For large tensors.
struct ring {
    static constexpr bool sums = true;

    auto bind(transport_ref through, std::int64_t size_max,
              wire::value_format format = wire::value_format::fp32) const {
        return ring_all_reduce(through,
                               detail::collectives::ring_plan(through.rank(), through.size()),
                               size_max, format);
    }
};

}  // namespace sotto::collectives
