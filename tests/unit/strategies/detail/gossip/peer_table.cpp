#include "sotto/strategies/detail/gossip/peer_table.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace sotto;

TEST_CASE("who has mixed for longest sums up, of equals the lowest, and nobody who is done") {
    detail::peer_table peers(4, 2);
    CHECK(peers.sums_for_all(0, false) == 2);  // nobody else takes part
    for (const int rank : {0, 1, 3}) peers.of(rank).takes_part = true;
    peers.of(0).since = 5;
    CHECK(peers.sums_for_all(0, false) == 1);
    CHECK(peers.sums_for_all(7, true) == 1);
    peers.of(1).is_done = true;
    CHECK(peers.sums_for_all(0, false) == 2);
    CHECK(peers.sums_for_all(0, true) == 3);
    peers.of(3).is_here = false;
    CHECK(peers.sums_for_all(0, true) == 0);
}

TEST_CASE("what was learnt is fetched rather of a neighbour, and of who is furthest") {
    detail::peer_table peers(4, 0);
    CHECK_FALSE(peers.best_source());
    for (const int rank : {1, 2, 3}) peers.of(rank).has_trained = true;
    peers.of(3).at = {9, 1};
    CHECK(peers.best_source() == 3);
    peers.of(1).is_neighbour = peers.of(2).is_neighbour = true;
    peers.of(2).at = {4, 1};
    CHECK(peers.best_source() == 2);
    peers.of(2).is_alike = false;
    CHECK(peers.best_source() == 1);
    peers.of(1).is_here = false;
    CHECK(peers.best_source() == 3);
}

TEST_CASE("a neighbour that is awaited and has not begun this round is not known of yet") {
    detail::peer_table peers(3, 0);
    CHECK_FALSE(peers.first_unknown({3, 1}));
    CHECK_FALSE(peers.earliest_step());
    for (const int rank : {1, 2}) {
        peers.of(rank).is_neighbour = peers.of(rank).takes_part = peers.of(rank).is_awaited = true;
        peers.of(rank).at = {static_cast<std::uint64_t>(2 + rank), 1};
    }
    peers.of(1).said = {3, 1};
    CHECK(peers.first_unknown({3, 1}) == 2);
    CHECK(peers.earliest_step() == 3u);
    peers.of(2).said = {4, 1};  // a later one
    CHECK_FALSE(peers.first_unknown({3, 1}));
    std::vector<int> here;
    peers.for_each_here([&](int rank) { here.push_back(rank); });
    CHECK(here == std::vector{1, 2});
}
