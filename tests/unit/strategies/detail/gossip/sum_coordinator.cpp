#include "sotto/strategies/detail/gossip/sum_coordinator.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace sotto;
using detail::wire::gossip_place, detail::wire::gossip_sums;

namespace {

const auto everybody = [](int) { return true; };

/// Decides what can be, and that no more rounds follow.
template <class Counts>
void decide(detail::sum_coordinator& by, Counts counts) {
    while (const auto due = by.next(counts)) by.decide(*due);
}

std::vector<int> answered(detail::sum_coordinator& by) {
    std::vector<int> ranks;
    by.answer([&](int rank) { ranks.push_back(rank); });
    return ranks;
}

}  // namespace

TEST_CASE("a sum is decided when all wait in its round, and each is answered once") {
    detail::sum_coordinator sums(3);
    sums.stands(0, {4, 1}, true, {1.0, 10.0});
    sums.stands(1, {4, 1}, true, {2.0, 20.0, false, 1});
    decide(sums, everybody);
    CHECK(sums.decided() == gossip_place{});
    sums.stands(2, {4, 1}, false, {});  // it mixes still
    decide(sums, everybody);
    CHECK(sums.decided() == gossip_place{});
    sums.stands(2, {4, 1}, true, {4.0, 40.0, true, 1});
    decide(sums, everybody);
    CHECK(sums.decided() == gossip_place{4, 1});
    CHECK(sums.last().sums == gossip_sums{7.0, 70.0, true, 2});
    CHECK(sums.last().ranks == 3);
    CHECK(answered(sums) == std::vector{0, 1, 2});
    CHECK(answered(sums).empty());
}

TEST_CASE("what is due stays so until it is decided, with what follows from it") {
    detail::sum_coordinator sums(2);
    for (const int rank : {0, 1}) sums.stands(rank, {4, 1}, true, {1.0, 0.0});
    auto due = sums.next(everybody);
    REQUIRE(due);
    CHECK(due->at == gossip_place{4, 1});
    CHECK(due->found.sums.change == 2.0);
    CHECK(sums.decided() == gossip_place{});
    CHECK(answered(sums).empty());
    due->found.another = true;
    sums.decide(*due);
    CHECK(sums.last().another);
    CHECK(answered(sums) == std::vector{0, 1});
    CHECK_FALSE(sums.next(everybody));
}

TEST_CASE("a rank that is past a round is not waited for, one before it is") {
    detail::sum_coordinator sums(3);
    sums.stands(0, {4, 2}, true, {1.0, 0.0});
    sums.stands(1, {5, 1}, false, {});
    sums.stands(2, {4, 1}, false, {});
    decide(sums, everybody);
    CHECK(sums.decided() == gossip_place{});
    sums.stands(2, {5, 1}, true, {2.0, 0.0});
    decide(sums, everybody);
    CHECK(sums.decided() == gossip_place{4, 2});
    CHECK(sums.last().ranks == 1);
    CHECK(answered(sums) == std::vector{0});
}

TEST_CASE("a rank that is behind all verdicts is answered with the last") {
    detail::sum_coordinator sums(2);
    sums.learn({4, 1}, {{3.0, 0.0}, 2});
    sums.stands(1, {2, 1}, true, {1.0, 0.0});
    decide(sums, everybody);
    CHECK(sums.decided() == gossip_place{4, 1});
    CHECK(answered(sums) == std::vector{1});
    sums.learn({3, 1}, {{9.0, 0.0}, 1, true});  // an earlier one changes nothing
    CHECK(sums.last().sums.change == 3.0);
    CHECK_FALSE(sums.last().another);
}

TEST_CASE("who goes on summing up hears from all before it decides, and keeps a verdict") {
    // Rank 0 has summed up and told rank 1 alone before it went; rank 2 goes on.
    detail::sum_coordinator sums(4);
    const auto lives = [](int rank) { return rank != 0; };
    sums.stands(2, {4, 1}, true, {1.0, 0.0});
    sums.stands(3, {4, 1}, true, {1.0, 0.0});
    decide(sums, lives);
    CHECK(sums.decided() == gossip_place{});
    sums.learn({4, 1}, {{100.0, 0.0}, 4, true});  // says rank 1
    sums.stands(1, {4, 1}, false, {});
    decide(sums, lives);
    CHECK(sums.last().sums.change == 100.0);
    CHECK(sums.last().ranks == 4);
    CHECK(sums.last().another);
    CHECK(answered(sums) == std::vector{2, 3});
}

TEST_CASE("a rank that went, or takes no part, is not waited for") {
    detail::sum_coordinator sums(3);
    for (const int rank : {0, 1, 2}) sums.stands(rank, {4, 1}, rank != 1, {1.0, 0.0});
    decide(sums, [](int rank) { return rank != 1; });
    CHECK(sums.last().ranks == 2);
    sums.stands(0, {4, 2}, true, {1.0, 0.0});
    sums.forget(2);
    decide(sums,
           [](int rank) { return rank != 1; });  // it has come again, and not said where it is
    CHECK(sums.decided() == gossip_place{4, 1});
    decide(sums, [](int rank) { return rank == 0; });
    CHECK(sums.decided() == gossip_place{4, 2});
}
