#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "sotto/collectives/detail/all_gather_parts.hpp"
#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/broadcast.hpp"
#include "sotto/collectives/halving_doubling.hpp"
#include "sotto/collectives/detail/plan.hpp"
#include "sotto/collectives/detail/recursive_doubling.hpp"
#include "sotto/collectives/ring.hpp"
#include "sotto/collectives/tree.hpp"

using namespace sotto;
using namespace sotto::collectives;
using namespace sotto::detail::collectives;

static_assert(plan<ring_plan> && plan<tree_plan> && plan<halving_doubling_plan> &&
              plan<recursive_doubling_plan> && plan<all_reduce_plan>);

namespace {

struct sent {
    std::int64_t values = 0;
    std::int64_t messages = 0;
};

/// Plays a plan on all ranks with sets of ranks instead of sums: at[rank][value] counts how often
/// each rank's value is in it. Checks that what arrives is what is expected. Returns what each rank
/// sent.
template <class Make>
std::vector<sent> play(int world, std::int64_t n, Make make,
                       std::vector<std::vector<std::vector<int>>>& at) {
    const auto size = static_cast<std::size_t>(world);
    std::vector<decltype(make(0))> plans;
    for (int rank = 0; rank < world; ++rank) {
        plans.push_back(make(rank));
        plans.back().begin(n);
    }
    std::map<std::pair<int, int>, std::deque<std::pair<range, std::vector<std::vector<int>>>>>
        wires;
    std::vector<int> next(size, 0);
    std::vector<bool> has_sent(size, false);
    std::vector<sent> totals(size);
    for (bool moved = true; moved;) {
        moved = false;
        for (int rank = 0; rank < world; ++rank) {
            const auto r = static_cast<std::size_t>(rank);
            if (next[r] == plans[r].steps()) continue;
            const step now = plans[r].at(next[r]);
            if (!has_sent[r]) {
                has_sent[r] = moved = true;
                if (now.to != nobody) {
                    CHECK(now.to != rank);
                    if (now.from != nobody && now.how == arrival::replace)
                        CHECK_FALSE(now.in.overlaps(now.out));
                    wires[{rank, now.to}].push_back(
                        {now.out, {at[r].begin() + now.out.begin, at[r].begin() + now.out.end}});
                    totals[r].values += now.out.size();
                    totals[r].messages += now.out.empty() ? 0 : 1;
                }
            }
            if (now.from != nobody) {
                auto& wire = wires[{now.from, rank}];
                if (wire.empty()) continue;
                CHECK(wire.front().first == now.in);
                for (std::int64_t i = 0; i < now.in.size(); ++i) {
                    auto& value = at[r][static_cast<std::size_t>(now.in.begin + i)];
                    const auto& arrived = wire.front().second[static_cast<std::size_t>(i)];
                    for (std::size_t k = 0; k < size; ++k)
                        value[k] = now.how == arrival::replace ? arrived[k] : value[k] + arrived[k];
                }
                wire.pop_front();
            }
            ++next[r];
            has_sent[r] = false;
            moved = true;
        }
    }
    for (int rank = 0; rank < world; ++rank)
        CHECK(next[static_cast<std::size_t>(rank)] ==
              plans[static_cast<std::size_t>(rank)].steps());
    for (const auto& [pair, wire] : wires) CHECK(wire.empty());
    return totals;
}

/// Every rank holds only its own values.
std::vector<std::vector<std::vector<int>>> own_values(int world, std::int64_t n) {
    const auto size = static_cast<std::size_t>(world);
    std::vector<std::vector<std::vector<int>>> at(size);
    for (std::size_t r = 0; r < size; ++r) {
        at[r].assign(static_cast<std::size_t>(n), std::vector<int>(size, 0));
        for (auto& value : at[r]) value[r] = 1;
    }
    return at;
}

const std::vector<int> worlds{1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 33};
const std::vector<std::int64_t> sizes{0, 1, 2, 3, 7, 16, 50};

}  // namespace

TEST_CASE("parts cover all values once, and differ by at most one") {
    for (const std::int64_t n : {0, 1, 5, 6, 7, 100})
        for (const std::int64_t parts : {1, 2, 3, 7, 101}) {
            std::int64_t end = 0;
            for (std::int64_t i = 0; i < parts; ++i) {
                const range part = part_of(n, parts, i);
                CHECK(part.begin == end);
                CHECK(part.size() >= n / parts);
                CHECK(part.size() <= (n + parts - 1) / parts);
                end = part.end;
            }
            CHECK(end == n);
        }
}

TEST_CASE("ranges overlap only where both have values") {
    CHECK(range{0, 3}.overlaps({2, 5}));
    CHECK_FALSE(range{0, 3}.overlaps({3, 5}));
    CHECK_FALSE(range{0, 3}.overlaps({1, 1}));
}

TEST_CASE("every plan to sum takes every rank's values exactly once, everywhere") {
    for (const int world : worlds)
        for (const std::int64_t n : sizes)
            for (const algorithm which :
                 {algorithm::ring, algorithm::tree, algorithm::halving_doubling,
                  algorithm::recursive_doubling, algorithm::automatic}) {
                auto at = own_values(world, n);
                play(
                    world, n,
                    [&](int rank) {
                        return all_reduce_plan(rank, world, which, wire::value_format::fp32);
                    },
                    at);
                for (const auto& rank : at)
                    for (const auto& value : rank)
                        CHECK(value == std::vector<int>(static_cast<std::size_t>(world), 1));
            }
}

TEST_CASE("a ring sends all values twice, but for a part each time") {
    for (const int world : worlds)
        for (const std::int64_t n : sizes) {
            auto at = own_values(world, n);
            const auto totals = play(
                world, n, [&](int rank) { return ring_plan(rank, world); }, at);
            for (int rank = 0; rank < world; ++rank) {
                const std::int64_t own = part_of(n, world, rank).size(),
                                   next = part_of(n, world, (rank + 1) % world).size();
                CHECK(totals[static_cast<std::size_t>(rank)].values == 2 * n - own - next);
                if (n % world == 0)
                    CHECK(totals[static_cast<std::size_t>(rank)].values ==
                          2 * (world - 1) * n / world);
            }
        }
}

TEST_CASE("a tree sends 2(N-1) messages in all") {
    for (const int world : worlds) {
        auto at = own_values(world, 3);
        std::int64_t messages = 0;
        for (const sent& s : play(
                 world, 3, [&](int rank) { return tree_plan(rank, world); }, at))
            messages += s.messages;
        CHECK(messages == 2 * (world - 1));
    }
}

TEST_CASE("halving and doubling sends as little as a ring where the ranks are a power of two") {
    for (const int world : {2, 4, 8, 16}) {
        auto at = own_values(world, 48);
        for (const sent& s : play(
                 world, 48, [&](int rank) { return halving_doubling_plan(rank, world); }, at)) {
            CHECK(s.values == 2 * (world - 1) * 48 / world);
            CHECK((1 << s.messages / 2) == world);
        }
    }
}

TEST_CASE("recursive doubling takes the fewest steps") {
    for (const int world : {2, 4, 8, 16}) {
        auto at = own_values(world, 3);
        for (const sent& s : play(
                 world, 3, [&](int rank) { return recursive_doubling_plan(rank, world); }, at)) {
            CHECK((1 << s.messages) == world);
            CHECK(s.values == 3 * s.messages);
        }
    }
}

TEST_CASE("a ring's first half leaves each rank the sum of its own part") {
    for (const int world : worlds)
        for (const std::int64_t n : sizes) {
            auto at = own_values(world, n);
            play(
                world, n,
                [&](int rank) { return ring_plan(rank, world, ring_plan::phases::reduce_scatter); },
                at);
            for (int rank = 0; rank < world; ++rank) {
                const range own = part_of(n, world, rank);
                for (std::int64_t i = own.begin; i < own.end; ++i)
                    CHECK(at[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)] ==
                          std::vector<int>(static_cast<std::size_t>(world), 1));
            }
        }
}

TEST_CASE("a ring's second half spreads each rank's own part") {
    for (const int world : worlds)
        for (const std::int64_t n : sizes) {
            auto at = own_values(world, n);
            const auto initial = at;
            play(
                world, n,
                [&](int rank) { return ring_plan(rank, world, ring_plan::phases::all_gather); },
                at);
            for (const auto& rank : at)
                for (int owner = 0; owner < world; ++owner) {
                    const range part = part_of(n, world, owner);
                    for (auto i = static_cast<std::size_t>(part.begin);
                         i < static_cast<std::size_t>(part.end); ++i)
                        CHECK(rank[i] == initial[static_cast<std::size_t>(owner)][i]);
                }
        }
}

TEST_CASE(
    "a tree's way down gives everybody the root's values, its way up gives the root the sum") {
    for (const int world : worlds)
        for (int root = 0; root < world; ++root) {
            auto down = own_values(world, 4), up = down;
            const auto of_root = down[static_cast<std::size_t>(root)];
            play(
                world, 4,
                [&](int rank) { return tree_plan(rank, world, tree_plan::ways::down, root); },
                down);
            for (const auto& rank : down) CHECK(rank == of_root);
            play(
                world, 4,
                [&](int rank) { return tree_plan(rank, world, tree_plan::ways::up, root); }, up);
            for (const auto& value : up[static_cast<std::size_t>(root)])
                CHECK(value == std::vector<int>(static_cast<std::size_t>(world), 1));
        }
}

TEST_CASE("the table of algorithms: fewest steps for the smallest, rings for the largest") {
    constexpr auto half = wire::value_format::fp16;
    for (const int world : {2, 3, 4, 5, 8, 9, 64, 100}) {
        CHECK(choose_all_reduce(0, world) == algorithm::recursive_doubling);
        CHECK(choose_all_reduce(32768, world) == algorithm::recursive_doubling);
        CHECK(choose_all_reduce(0, world, half) == algorithm::tree);
        CHECK(choose_all_reduce(1024, world, half) == algorithm::tree);
        CHECK(choose_all_reduce(std::int64_t{1} << 40, world) == algorithm::ring);
    }
    CHECK(choose_all_reduce(131072, 2) == algorithm::recursive_doubling);
    CHECK(choose_all_reduce(131073, 2) == algorithm::ring);
    CHECK(choose_all_reduce(32769, 3) == algorithm::ring);
    for (const int world : {4, 8, 64})
        CHECK(choose_all_reduce(32769, world) == algorithm::halving_doubling);
    CHECK(choose_all_reduce(1025, 4, half) == algorithm::halving_doubling);
    CHECK(choose_all_reduce(1 << 20, 4) == algorithm::halving_doubling);
    CHECK(choose_all_reduce((1 << 20) + 1, 4) == algorithm::ring);
    // Five ranks: 8 steps by a ring, 6 by halves: one pair of steps saved.
    CHECK(choose_all_reduce(32768, 5, half) == algorithm::halving_doubling);
    CHECK(choose_all_reduce(32769, 5, half) == algorithm::ring);
}
