#pragma once

#include <cstdint>
#include <type_traits>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/all_gather.hpp"
#include "sotto/collectives/detail/fitting.hpp"
#include "sotto/collectives/hierarchical.hpp"
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/strategies/detail/all_reduce/sum_operation.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// What a strategy's collective says of how gradients travel.
struct exchange_ways {
    bool gathers = false;   // everybody's message to everybody, also of what could be summed
    bool scatters = false;  // entries by sparse_reduce_scatter
    bool fits = false;      // entries as choose_sparse says
    sotto::collectives::sparse_reduce_scatter scattering{};
    sotto::collectives::all_gather gathering{};
    bind_sum sum{};
};

/// Of a collective. The copies that it binds are its own.
template <class Collective>
exchange_ways ways_of(const Collective& asked) {
    exchange_ways ways{
        .gathers = std::is_same_v<Collective, sotto::collectives::all_gather>,
        .scatters = std::is_same_v<Collective, sotto::collectives::sparse_reduce_scatter>,
        .fits = std::is_same_v<Collective, collectives::fitting> ||
                std::is_same_v<Collective, sotto::collectives::hierarchical>};
    if constexpr (std::is_same_v<Collective, sotto::collectives::sparse_reduce_scatter>)
        ways.scattering = asked;
    if constexpr (std::is_same_v<Collective, sotto::collectives::all_gather>)
        ways.gathering = asked;
    if constexpr (collectives::summing<Collective>)
        ways.sum = [asked](transport_ref through, std::int64_t size_max,
                           wire::value_format format) {
            return sum_operation(asked.bind(through, size_max, format));
        };
    else
        ways.sum = [](transport_ref through, std::int64_t size_max, wire::value_format format) {
            return sum_operation(sotto::collectives::automatic{}.bind(through, size_max, format));
        };
    return ways;
}

}  // namespace sotto::detail
