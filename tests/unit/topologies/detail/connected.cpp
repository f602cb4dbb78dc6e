#include "sotto/topologies/detail/connected.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/edge_list.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/topologies/lazy.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/topologies/spectrum.hpp"
#include "sotto/topologies/star.hpp"
#include "sotto/topologies/torus.hpp"

using namespace sotto::topologies;
using namespace sotto::detail::topologies;

namespace {

void joins(auto state) {
    CHECK_NOTHROW(require_connected(state));
}
void refuses(auto state, const char* why) {
    CHECK_THROWS_WITH_AS(require_connected(state), why, sotto::invalid_option);
}

constexpr const char* to_and_fro =
    "topology: ranks whose own weights are 0 hand all that they have to and fro, and would never "
    "come together: topologies::lazy{...} gives them weights of their own";

/// Each rank takes half of what either neighbour has, and keeps nothing.
mixing_matrix ring_of_halves(int size) {
    mixing_matrix w(size);
    for (int rank = 0; rank < size; ++rank) w.link_both(rank, (rank + 1) % size, 0.5);
    return w;
}

struct halves {
    auto bind(int size) const { return repeated(ring_of_halves(size)); }
};

mixing_matrix pairs(int size, const std::vector<std::pair<int, int>>& of, double weight = 0.5) {
    mixing_matrix w(size);
    for (const auto& [a, b] : of) w.link_both(a, b, weight);
    return w;
}

}  // namespace

TEST_CASE("what joins all ranks is taken, in one round or over several") {
    for (int size = 1; size <= 17; ++size) {
        CAPTURE(size);
        joins(ring{}.bind(size));
        joins(torus{}.bind(size));
        joins(star{}.bind(size));
        joins(complete{}.bind(size));
        joins(exponential{}.bind(size));
        joins(one_peer_exponential{}.bind(size));
        joins(lazy{one_peer_exponential{}}.bind(size));
    }
    // Neither of two rounds joins all, and both do.
    joins(repeated(std::vector{pairs(4, {{0, 1}, {2, 3}}), pairs(4, {{1, 2}, {3, 0}})}));
    joins(edge_list{{{0, 1}, {1, 2}, {2, 0}}, true}.bind(3));
}

TEST_CASE("ranks that never hear of each other are refused, naming the first") {
    refuses(edge_list{{{0, 1}, {2, 3}}}.bind(4),
            "topology: what rank 0 has never comes to rank 2: the graph is not connected, and its "
            "parts would never come together; link them");
    refuses(repeated(mixing_matrix(2)),
            "topology: what rank 0 has never comes to rank 1: the graph is not connected, and its "
            "parts would never come together; link them");
    refuses(edge_list{{{1, 0}, {1, 2}, {2, 1}}, true}.bind(3),
            "topology: what rank 0 has never comes to rank 1: the graph is not connected, and its "
            "parts would never come together; link them");
    refuses(edge_list{{{0, 1}, {1, 2}, {2, 1}}, true}.bind(3),
            "topology: what rank 1 has never comes to rank 0: the graph is not connected, and its "
            "parts would never come together; link them");
    refuses(repeated(std::vector{pairs(4, {{0, 1}}), pairs(4, {{2, 3}})}),
            "topology: what rank 0 has never comes to rank 2: the graph is not connected, and its "
            "parts would never come together; link them");
}

TEST_CASE("own weights of 0 are refused where ranks change places for ever, and there alone") {
    for (const int size : {4, 6, 8}) {
        refuses(halves{}.bind(size), to_and_fro);
        joins(lazy{halves{}}.bind(size));
    }
    for (const int size : {3, 5, 7}) joins(halves{}.bind(size));  // an odd way leads back
    mixing_matrix cycle(3);                                       // everybody hands on all of it
    cycle.link(1, 0, 1.0).link(2, 1, 1.0).link(0, 2, 1.0);
    refuses(repeated(cycle), to_and_fro);
    // Two ranks that change places, twice: each has its own again after two rounds.
    refuses(repeated(std::vector{pairs(2, {{0, 1}}, 1.0), pairs(2, {{0, 1}}, 1.0)}),
            "topology: what rank 0 has never comes to rank 1: the graph is not connected, and its "
            "parts would never come together; link them");
    // A round may leave a distance as it is where those to come do not.
    mixing_matrix late(3);
    late.link(0, 1, 1.0).link(1, 0, 0.5).link(1, 2, 0.5).link(2, 0, 0.5);
    CHECK(second_singular_value(late) == doctest::Approx(1.0));
    joins(repeated(late));
}

TEST_CASE("what is drawn anew in each round is not looked at") {
    for (int size = 1; size <= 9; ++size) joins(random_matching{}.bind(size));
}
