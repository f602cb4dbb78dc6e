#pragma once

#include <cstdint>

#include "sotto/collectives/detail/plan.hpp"
#include "sotto/collectives/detail/planned.hpp"
#include "sotto/collectives/ring.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

/// The second half of a ring, for values of any type: nothing is added.
struct all_gather_plan : ring_plan {
    static constexpr bool adds = false;
    constexpr all_gather_plan(int rank, int world) noexcept
        : ring_plan(rank, world, phases::all_gather) {}
};

/// Reassembles what reduce_scatter leaves: every rank starts with one part of n values and ends
/// with all values.
///   shape   n values in place; at the start, rank r has part r = owned(n)
///   cost    N-1 steps; a rank sends all values except those of one part
template <class Value = float>
class all_gather_parts : public planned<all_gather_plan, Value> {
public:
    /// For at most `size_max` values.
    all_gather_parts(transport_ref through, std::int64_t size_max)
        : planned<all_gather_plan, Value>(through, all_gather_plan(through.rank(), through.size()),
                                          size_max),
          rank_(through.rank()),
          world_(through.size()) {}

    /// Range of the values that this rank has at the start.
    range owned(std::int64_t n) const noexcept { return part_of(n, world_, rank_); }

private:
    int rank_;
    int world_;
};

}  // namespace sotto::detail::collectives
