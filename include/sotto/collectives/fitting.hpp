#pragma once

#include "sotto/collectives/operation.hpp"

namespace sotto::collectives {

/// Whatever suits what is to be sent: sums what can be summed, by the table of choose_all_reduce,
/// and gathers the rest.
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
