#include "sotto/topologies/detail/live_weight.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/edge_list.hpp"
#include "sotto/topologies/hypercube.hpp"
#include "sotto/topologies/lazy.hpp"
#include "sotto/topologies/random_regular.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/topologies/star.hpp"
#include "sotto/topologies/torus.hpp"
#include "sotto/topologies/tree.hpp"

using namespace sotto;
using namespace sotto::topologies;
using namespace sotto::detail::topologies;

namespace {

/// What ranks mix by of which each knows some others to be dead. A link is there for a rank that
/// does not know the other to be; it mixes if it is for both.
mixing_matrix live_by(const mixing_matrix& whole, const std::vector<std::set<int>>& dead_to) {
    const auto is_there = [&](int a, int b) {
        return !dead_to[static_cast<std::size_t>(a)].contains(b);
    };
    std::vector<live_links> links;
    for (int rank = 0; rank < whole.size(); ++rank)
        links.push_back(live_links_of(whole, rank, [&](int n) { return is_there(rank, n); }));
    mixing_matrix live(whole.size());
    for (int a = 0; a < whole.size(); ++a)
        for (const neighbour& n : whole.into(a)) {
            if (!is_there(a, n.rank) || !is_there(n.rank, a)) continue;
            live.link(a, n.rank,
                      live_weight(whole, a, n.rank, links[static_cast<std::size_t>(a)],
                                  links[static_cast<std::size_t>(n.rank)]));
        }
    return live;
}

/// The same, where all know who is dead.
mixing_matrix without(const mixing_matrix& whole, const std::set<int>& dead) {
    std::vector<std::set<int>> known(static_cast<std::size_t>(whole.size()), dead);
    for (const int rank : dead)
        for (int other = 0; other < whole.size(); ++other)
            known[static_cast<std::size_t>(rank)].insert(other);
    return live_by(whole, known);
}

void require_mixing(const mixing_matrix& live) {
    CHECK(live.is_symmetric());
    live.require_doubly_stochastic();
    for (int rank = 0; rank < live.size(); ++rank) CHECK(live.own_weight(rank) > -1e-12);
}

}  // namespace

TEST_CASE("on the complete graph the ranks that are left take their mean again") {
    for (const int size : {3, 8})
        for (const std::set<int>& dead : {std::set{0}, std::set{1, size - 1}}) {
            const auto live = without(complete{}.bind(size).matrix(0), dead);
            require_mixing(live);
            const double share = 1.0 / (size - static_cast<int>(dead.size()));
            for (int a = 0; a < size; ++a)
                for (int b = 0; b < size; ++b) {
                    if (dead.contains(a) || dead.contains(b)) continue;
                    CHECK(live.weight(a, b) == doctest::Approx(share));
                }
        }
}

TEST_CASE("a ring of 8 without a rank is a path with Metropolis-Hastings weights") {
    const auto live = without(ring{}.bind(8).matrix(0), {3});
    require_mixing(live);
    for (int rank = 0; rank < 8; ++rank) {
        const int next = (rank + 1) % 8;
        const double expected = rank == 3 || next == 3 ? 0.0 : 1.0 / 3.0;
        CHECK(live.weight(rank, next) == doctest::Approx(expected));
    }
    CHECK(live.own_weight(2) == doctest::Approx(2.0 / 3.0));
    CHECK(live.own_weight(3) == 1.0);
    // Two that are left alone with each other take their mean.
    CHECK(without(ring{}.bind(8).matrix(0), {1, 4}).weight(2, 3) == doctest::Approx(0.5));
}

TEST_CASE("weights by degree are those of the graph that is left, whatever its shape") {
    const std::vector<std::pair<int, int>> edges{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2}, {4, 5}};
    std::vector<std::pair<int, int>> left;
    for (const auto& e : edges)
        if (e.first != 3 && e.second != 3) left.push_back(e);
    const auto live = without(by_degree(6, edges), {3});
    const auto expected = by_degree(6, left);
    for (int a = 0; a < 6; ++a)
        for (int b = 0; b < 6; ++b)
            CHECK(live.weight(a, b) == doctest::Approx(expected.weight(a, b)));
}

TEST_CASE("where nothing is lost a link weighs what the topology gives it, to the last bit") {
    const auto all_there = [](const mixing_matrix& whole) { CHECK(without(whole, {}) == whole); };
    all_there(ring{}.bind(7).matrix(0));
    all_there(torus{2, 4}.bind(8).matrix(0));
    all_there(star{}.bind(7).matrix(0));
    all_there(lazy{complete{}}.bind(6).matrix(0));
    all_there(edge_list{{{0, 1, 0.9}, {1, 2, 0.05}, {2, 0, 0.1}}}.bind(3).matrix(0));
}

TEST_CASE("lazy links stay lazy, and weights of the user's own in proportion") {
    const auto slow = without(lazy{complete{}, 0.25}.bind(5).matrix(0), {4});
    require_mixing(slow);
    for (int rank = 0; rank < 4; ++rank) CHECK(slow.own_weight(rank) > 0.75);
    const auto own = without(
        edge_list{{{0, 1, 0.6}, {1, 2, 0.2}, {2, 0, 0.1}, {2, 3, 0.5}}}.bind(4).matrix(0), {3});
    require_mixing(own);
    CHECK(own.weight(0, 1) == 0.6);
    CHECK(own.weight(1, 2) == 0.2);
}

TEST_CASE("whatever ranks know of each other, both ends of a link agree and no row is above 1") {
    random_stream random(5);
    const auto check = [&](const mixing_matrix& whole) {
        for (int trial = 0; trial < 200; ++trial) {
            std::vector<std::set<int>> dead_to(static_cast<std::size_t>(whole.size()));
            for (auto& of_rank : dead_to)
                for (int rank = 0; rank < whole.size(); ++rank)
                    if (random.below(4) == 0) of_rank.insert(rank);
            require_mixing(live_by(whole, dead_to));
        }
    };
    check(ring{}.bind(8).matrix(0));
    check(torus{2, 4}.bind(8).matrix(0));
    check(torus{}.bind(9).matrix(0));
    check(complete{}.bind(6).matrix(0));
    check(star{}.bind(7).matrix(0));
    check(tree{}.bind(10).matrix(0));
    check(hypercube{}.bind(8).matrix(0));
    check(random_regular{}.bind(12).matrix(0));
    check(lazy{ring{}}.bind(6).matrix(0));
    check(edge_list{{{0, 1, 0.9}, {1, 2, 0.05}, {2, 0, 0.1}, {2, 3, 0.8}}}.bind(4).matrix(0));
}
