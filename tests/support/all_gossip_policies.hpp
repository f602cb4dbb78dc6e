#pragma once

#include <tuple>
#include <type_traits>
#include <vector>

#include "sotto/compressors/none.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/gossip/control/consensus_band.hpp"
#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/strategies/gossip/control/control_phases.hpp"
#include "sotto/strategies/gossip/control/exact_consensus_control.hpp"
#include "sotto/strategies/gossip/control/exact_mean.hpp"
#include "sotto/strategies/gossip/control/fixed_rounds.hpp"
#include "sotto/strategies/gossip/control/fraction_of_maximum.hpp"
#include "sotto/strategies/gossip/mixing/adapt_then_combine.hpp"
#include "sotto/strategies/gossip/mixing/asynchronous_pairs.hpp"
#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/strategies/gossip/mixing/d_squared.hpp"
#include "sotto/strategies/gossip/mixing/gradient_tracking.hpp"
#include "sotto/strategies/gossip/mixing/push_sum.hpp"
#include "sotto/strategies/gossip/mixing/quasi_global_momentum.hpp"
#include "sotto/strategies/gossip/mixing/slow_momentum.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/edge_list.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/topologies/hypercube.hpp"
#include "sotto/topologies/lazy.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/topologies/random_regular.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/topologies/star.hpp"
#include "sotto/topologies/torus.hpp"
#include "sotto/topologies/tree.hpp"
#include "support/sensible.hpp"

// Every policy of gossip, by concept, as all_policies.hpp has the others: apart from those, so that
// nobody compiles both.
namespace sotto::testing {

using every_topology =
    std::tuple<topologies::ring, topologies::torus, topologies::hypercube, topologies::exponential,
               topologies::one_peer_exponential, topologies::star, topologies::complete,
               topologies::tree, topologies::random_regular, topologies::random_matching,
               topologies::edge_list, topologies::lazy<topologies::ring>,
               topologies::lazy<topologies::one_peer_exponential>,
               topologies::lazy<topologies::random_matching>>;

using every_controller = std::tuple<no_control, fixed_rounds, exact_mean, consensus_control,
                                    consensus_band, exact_consensus_control, fraction_of_maximum,
                                    control_phases<consensus_control, no_control>,
                                    control_phases<fixed_rounds, fraction_of_maximum>,
                                    control_phases<fraction_of_maximum, exact_mean>>;

using every_mixing_method =
    std::tuple<mixing::adapt_then_combine, mixing::combine_then_adapt, mixing::asynchronous_pairs,
               mixing::choco, mixing::push_sum, mixing::d_squared, mixing::gradient_tracking,
               mixing::quasi_global_momentum, mixing::slow_momentum<>,
               mixing::slow_momentum<mixing::combine_then_adapt>,
               mixing::slow_momentum<mixing::gradient_tracking>>;

/// Numbers of ranks that a topology of sensible options joins.
template <class Topology>
std::vector<int> sizes_of() {
    if constexpr (std::is_same_v<Topology, topologies::edge_list>) return {6};
    if constexpr (std::is_same_v<Topology, topologies::random_regular>) return {1, 5, 6, 9, 16};
    return {1, 2, 3, 4, 5, 7, 8, 12, 16, 17};
}

/// Two triangles and a link between them.
template <>
struct sensible<topologies::edge_list> {
    static topologies::edge_list options() {
        return {{{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}, {0, 3}}};
    }
};

template <>
struct sensible<fixed_rounds> {
    static fixed_rounds options() { return {3}; }
};

template <>
struct sensible<fraction_of_maximum> {
    static fraction_of_maximum options() {
        return {.fraction = 0.25, .maxima = {{0.0, 1.0}, {2.0, 0.125}}};
    }
};

template <class First, class Then>
struct sensible<control_phases<First, Then>> {
    static control_phases<First, Then> options() {
        return {sensible<First>::options(), 1.0, sensible<Then>::options()};
    }
};

template <>
struct sensible<mixing::choco> {
    static mixing::choco options() { return {.step = 0.25}; }
};

template <class Inner>
struct sensible<mixing::slow_momentum<Inner>> {
    static mixing::slow_momentum<Inner> options() {
        return {sensible<Inner>::options(), 4, 0.5, 1.0};
    }
};

/// Gossip by a method, over links that all of them can bear.
template <class Method>
auto gossip_by(double rate) {
    const sgd by{.learning_rate = rate};
    const auto method = sensible<Method>::options();
    const topologies::lazy links{topologies::ring{}};
    if constexpr (detail::mixing::by_copies<Method>)
        return gossip{by, links, no_control{}, top_k{.density = 0.5}, method};
    else
        return gossip{by, links, no_control{}, none{}, method};
}

}  // namespace sotto::testing
