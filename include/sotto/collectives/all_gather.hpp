#pragma once

#include <cstdint>

#include "sotto/collectives/detail/route.hpp"
#include "sotto/core/config.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

class all_gather_v;
}  // namespace sotto::detail::collectives

namespace sotto::collectives {

/// Everybody's message to everybody, decoded in the order of the ranks: for messages that cannot be
/// summed as they are.
struct all_gather {
    /// How messages travel.
    using route = detail::collectives::route;

    static constexpr bool sums = false;
    route way = route::automatic;  // how they travel

    void describe(auto&& field) const { field("way", way); }

    detail::collectives::all_gather_v bind(transport_ref through, std::int64_t bytes_max) const;
};

}  // namespace sotto::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/all_gather.ipp"
#endif
