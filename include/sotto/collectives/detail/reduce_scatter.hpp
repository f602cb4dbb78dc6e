#pragma once

#include <cstdint>

#include "sotto/collectives/detail/plan.hpp"
#include "sotto/collectives/detail/planned.hpp"
#include "sotto/collectives/ring.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::collectives {

/// Sums floats over all ranks and leaves each rank its own part of the sum: the first half of a
/// ring.
///   shape   n floats in place; rank r ends with the sum of part r = owned(n), the rest holds
///           partial sums
///   cost    N-1 steps; a rank sends all values except those of one part
class reduce_scatter : public planned<ring_plan> {
public:
    /// For at most `size_max` values. All ranks pass the same size and format.
    reduce_scatter(transport_ref through, std::int64_t size_max,
                   wire::value_format format = wire::value_format::fp32);

    /// Range of the values whose sum this rank has at the end.
    range owned(std::int64_t n) const noexcept { return part_of(n, world_, rank_); }

private:
    int rank_;
    int world_;
};

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/detail/reduce_scatter.ipp"
#endif
