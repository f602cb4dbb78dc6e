#pragma once

#include "sotto/collectives/operation.hpp"

namespace sotto::collectives {

/// Whatever suits what is to be sent: sums what can be summed, by the table of choose_all_reduce,
/// and gathers the rest; entries go the way that choose_sparse and is_dense_shorter say. That
/// follows from sizes, densities and the number of ranks alone. By name, entries go by
/// all_gather{} or sparse_reduce_scatter{}.
struct fitting {
    static constexpr bool sums = false;
    void describe(auto&&) const {}
};

/// A collective that was asked for by name and adds up floats.
template <class C>
concept summing = collective<C> && requires {
    requires C::sums;
};

}  // namespace sotto::collectives
