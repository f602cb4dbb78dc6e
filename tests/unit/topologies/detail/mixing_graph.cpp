#include "sotto/topologies/detail/mixing_graph.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/topologies/lazy.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/topologies/spectrum.hpp"
#include "sotto/topologies/topology.hpp"

using namespace sotto;
using sotto::detail::topologies::mixing_graph;

namespace {

template <class Topology>
sotto::detail::topologies::mixing_graph graph_of(const Topology& topology, int ranks) {
    auto state = topology.bind(ranks);
    return sotto::detail::topologies::graph_of(
        ranks, state.period(), topologies::summary_of(state).second_singular_value,
        [&](std::int64_t round) -> const auto& { return state.matrix(round); });
}

}  // namespace

TEST_CASE("a graph has the links of its matrix, with their weights") {
    const sotto::detail::topologies::mixing_graph ring = graph_of(topologies::ring{}, 8);
    CHECK(ring.ranks == 8);
    CHECK(ring.period == 1);
    CHECK(ring.second_singular_value == doctest::Approx(0.8047).epsilon(1e-4));
    CHECK(ring.link_count == 16);
    CHECK(ring.degree == 2);
    REQUIRE(ring.links.size() == 16);
    CHECK(ring.links[0] == sotto::detail::topologies::mixing_link{1, 0, 1.0 / 3.0});
    CHECK(ring.links[1] == sotto::detail::topologies::mixing_link{7, 0, 1.0 / 3.0});
    CHECK(ring.links[2].to == 1);
    CHECK(graph_of(topologies::complete{}, 5).links.size() == 20);
    CHECK(graph_of(topologies::ring{}, 1).links.empty());
}

TEST_CASE("of matrices that take turns it is the mean") {
    const sotto::detail::topologies::mixing_graph one_peer =
        graph_of(topologies::one_peer_exponential{}, 8);
    CHECK(one_peer.period == 3);
    REQUIRE(one_peer.links.size() == 24);  // from 1, 2 and 4 places on
    for (const auto& link : one_peer.links) CHECK(link.weight == doctest::Approx(0.5 / 3.0));
    const sotto::detail::topologies::mixing_graph pairs =
        graph_of(topologies::random_matching{3}, 4);
    CHECK(pairs.period == 0);
    CHECK(std::isnan(pairs.second_singular_value));
    double into_0 = 0.0;
    for (const auto& link : pairs.links)
        if (link.to == 0) into_0 += link.weight;
    CHECK(into_0 == doctest::Approx(0.5));
}

TEST_CASE("links of a graph that has very many are counted, and not listed") {
    const sotto::detail::topologies::mixing_graph all = graph_of(topologies::complete{}, 150);
    CHECK(all.link_count == 150 * 149);
    CHECK(all.links.empty());
}

TEST_CASE("topologies are called by the last part of their name, or as they say") {
    CHECK(topologies::name_for_logs(topologies::one_peer_exponential{}) == "one_peer_exponential");
    CHECK(topologies::name_for_logs(topologies::lazy{topologies::ring{}}) == "lazy ring");
    struct of_mine {};
    CHECK(topologies::name_for_logs(of_mine{}) == "of_mine");
}
