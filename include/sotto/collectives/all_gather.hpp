#pragma once

#include <cstdint>

#include "sotto/collectives/detail/route.hpp"
#include "sotto/core/config.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

class all_gather_v;
}  // namespace sotto::detail::collectives

namespace sotto::collectives {

/// Gathers the messages of all ranks on every rank, which decodes them in rank order. For messages
/// that cannot be summed in compressed form.
struct all_gather {
    /// Route of the messages.
    using route = detail::collectives::route;

    static constexpr bool sums = false;
    route way = route::automatic;  // route of the messages

    void describe(auto&& field) const { field("way", way); }

    detail::collectives::all_gather_v bind(transport_ref through, std::int64_t bytes_max) const;
};

}  // namespace sotto::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/all_gather.ipp"
#endif
