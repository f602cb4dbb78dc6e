#pragma once

#include "sotto/collectives/detail/operation.hpp"

namespace sotto::detail::collectives {

/// Whatever suits what is to be sent: sums what can be summed, by the table of choose_all_reduce,
/// and gathers the rest; entries go the way that choose_sparse and is_dense_shorter say. That
/// follows from sizes, densities and the number of ranks alone. By name, entries go by
/// all_gather{} or sparse_reduce_scatter{}. Above 8 ranks, large tensors use the latter: a step
/// then applies about as many sums as one rank sends, and the others wait. To apply all sums, use
/// all_gather{} or sparse_reduce_scatter{.kept = sparse_reduce_scatter::all}.
///
/// What can neither be summed nor selected from again, such as the codes of qsgd, terngrad and
/// scaled_sign, is gathered however many ranks there are.
///   cost    (N-1) b/8 bytes a value of b bits, where a sum of whole gradients sends 8 (N-1)/N:
///           for more than 64 / b ranks that is more, and none{} is faster and exact. For 8, 4,
///           2 and 1 bits from 9, 17, 33 and 65 ranks on. `advise` says so of what it is given
struct fitting {
    static constexpr bool sums = false;
    void describe(auto&&) const {}
};

/// A collective that was asked for by name and adds up floats.
template <class C>
concept summing = collective<C> && requires {
    requires C::sums;
};

}  // namespace sotto::detail::collectives
