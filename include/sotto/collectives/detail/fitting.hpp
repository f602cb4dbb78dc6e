#pragma once

#include "sotto/collectives/detail/operation.hpp"

namespace sotto::detail::collectives {

/// Chooses a collective that fits the tensors. It sums tensors that can be summed, with the
/// algorithm of choose_all_reduce, and gathers the others. choose_sparse and is_dense_shorter
/// choose the route of entries. All choices follow from sizes, densities and the number of ranks
/// alone.
///
/// all_gather{} and sparse_reduce_scatter{} select the route of entries by name. Above 8 ranks,
/// large tensors use sparse_reduce_scatter: a step then applies about as many sums as one rank
/// sends, and the others wait. To apply all sums, use all_gather{} or sparse_reduce_scatter{.kept =
/// sparse_reduce_scatter::all}.
///
/// Some codes cannot be summed or selected from again, such as those of qsgd, terngrad and
/// scaled_sign. They are always gathered.
///   cost    gathering codes of b bits costs (N-1) b/8 bytes a value; a sum of whole gradients
///           costs 8 (N-1)/N. Above 64 / b ranks gathering costs more, and none{} is faster and
///           exact: for 8, 4, 2 and 1 bits from 9, 17, 33 and 65 ranks on. `advise` reports this
struct fitting {
    static constexpr bool sums = false;
    void describe(auto&&) const {}
};

/// A collective that is selected by name and sums floats.
template <class C>
concept summing = collective<C> && requires {
    requires C::sums;
};

}  // namespace sotto::detail::collectives
