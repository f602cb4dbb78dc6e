#include "sotto/data/sampler.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "sotto/core/errors.hpp"
#include "support/allocation_count.hpp"

using sotto::random_stream;
using sotto::detail::data::sampler;
using sotto::detail::data::share;

namespace {

std::vector<std::int64_t> read_epoch(const sampler& s) {
    std::vector<std::int64_t> all;
    for (std::int64_t step = 0; step < s.batches(); ++step) {
        const auto batch = s.batch(step);
        CHECK_FALSE(batch.empty());
        all.insert(all.end(), batch.begin(), batch.end());
    }
    CHECK(s.batch(s.batches()).empty());
    CHECK(s.batch(s.batches() + 1000).empty());
    CHECK(s.batch(-1).empty());
    return all;
}

}  // namespace

TEST_CASE(
    "the shares of an epoch are disjoint and cover everything, for any size and number of ranks") {
    for (const std::int64_t size : {0, 1, 2, 7, 100})
        for (const std::int64_t ranks : {1, 2, 3, 8, 101})
            for (const std::int64_t batch_size : {1, 4, 1000})
                for (const bool shuffle : {true, false}) {
                    std::vector<std::int64_t> seen;
                    std::int64_t least = size, most = 0;
                    for (std::int64_t rank = 0; rank < ranks; ++rank) {
                        sampler s(size, {rank, ranks}, batch_size, random_stream{3}, shuffle);
                        s.begin_epoch(5);
                        const auto own = read_epoch(s);
                        CHECK(s.examples() == static_cast<std::int64_t>(own.size()));
                        CHECK(s.batches() == (s.examples() + batch_size - 1) / batch_size);
                        least = std::min(least, s.examples());
                        most = std::max(most, s.examples());
                        seen.insert(seen.end(), own.begin(), own.end());
                    }
                    CHECK(most - least <= 1);
                    std::sort(seen.begin(), seen.end());
                    REQUIRE(static_cast<std::int64_t>(seen.size()) == size);
                    for (std::size_t i = 0; i < seen.size(); ++i)
                        CHECK(seen[i] == static_cast<std::int64_t>(i));
                }
}

TEST_CASE("shares are every count-th example of the order that one rank alone would read") {
    sampler whole(23, {}, 5, random_stream{1}), third(23, {2, 4}, 5, random_stream{1});
    const auto all = read_epoch(whole), own = read_epoch(third);
    for (std::size_t i = 0; i < own.size(); ++i) CHECK(own[i] == all[2 + 4 * i]);
}

TEST_CASE("an epoch's order follows from the stream and the epoch, not from the epochs before it") {
    sampler s(50, {}, 8, random_stream{9}), t(50, {}, 8, random_stream{9}),
        other(50, {}, 8, random_stream{10});
    s.begin_epoch(1);
    s.begin_epoch(7);
    t.begin_epoch(7);
    other.begin_epoch(7);
    CHECK(read_epoch(s) == read_epoch(t));
    CHECK(read_epoch(s) != read_epoch(other));
    t.begin_epoch(8);
    CHECK(read_epoch(s) != read_epoch(t));
    t.begin_epoch(7);
    CHECK(read_epoch(s) == read_epoch(t));
}

TEST_CASE("every order of three examples is equally likely") {
    sampler s(3, {}, 3, random_stream{4});
    std::vector<int> times(27);
    const int epochs = 6000;
    for (int epoch = 0; epoch < epochs; ++epoch) {
        s.begin_epoch(epoch);
        const auto order = s.batch(0);
        ++times[static_cast<std::size_t>(9 * order[0] + 3 * order[1] + order[2])];
    }
    for (const std::size_t code : {5u, 7u, 11u, 15u, 19u, 21u}) {  // 012 021 102 120 201 210
        CAPTURE(code);
        CHECK(std::abs(times[code] - epochs / 6) < 4 * 29);  // four standard deviations
    }
}

TEST_CASE("without shuffling the order is that of the data") {
    sampler s(10, {1, 3}, 2, random_stream{4}, false);
    s.begin_epoch(3);
    CHECK(read_epoch(s) == std::vector<std::int64_t>{1, 4, 7});
}

TEST_CASE("the first order of an epoch is pinned: runs can be repeated by later versions") {
    const sampler s(8, {}, 8, random_stream{2026});
    const auto order = s.batch(0);
    CHECK(std::vector<std::int64_t>(order.begin(), order.end()) ==
          std::vector<std::int64_t>{4, 5, 7, 1, 2, 0, 6, 3});
}

TEST_CASE("an empty share has no examples and no batches, whatever there is") {
    for (const std::int64_t size : {0, 1, 100}) {
        sampler s(size, {.index = 0, .count = 0}, 4, random_stream{4});
        s.begin_epoch(2);
        CHECK(s.examples() == 0);
        CHECK(s.batches() == 0);
        CHECK(s.batch(0).empty());
    }
}

TEST_CASE("shards are disjoint but for what is everybody's, and stay the same") {
    constexpr std::int64_t size = 101;
    for (const double common : {0.0, 0.25, 0.5, 1.0}) {
        CAPTURE(common);
        std::vector<std::set<std::int64_t>> shards;
        for (std::int64_t index = 0; index < 3; ++index) {
            // Each shuffles by a stream of its own; all are dealt by one.
            sampler s(size, {}, 8, random_stream{static_cast<std::uint64_t>(index)}, true,
                      {index, 3, common}, random_stream{9});
            std::set<std::int64_t> seen[2];
            std::vector<std::int64_t> orders[2];
            for (const std::int64_t epoch : {0, 1}) {
                s.begin_epoch(epoch);
                for (std::int64_t i = 0; i < s.batches(); ++i)
                    for (const std::int64_t example : s.batch(i)) {
                        seen[epoch].insert(example);
                        orders[epoch].push_back(example);
                    }
                CHECK(std::ssize(orders[epoch]) == s.examples());
                CHECK(std::ssize(seen[epoch]) == s.examples());
            }
            CHECK(seen[0] == seen[1]);
            CHECK(orders[0] != orders[1]);
            shards.push_back(seen[0]);
        }
        const auto everybodys = std::llround(common * size);
        std::map<std::int64_t, int> readers;
        for (const auto& shard : shards)
            for (const std::int64_t example : shard) ++readers[example];
        CHECK(std::ssize(readers) == size);  // nothing is lost
        std::int64_t read_by_all = 0;
        for (const auto& [example, count] : readers) {
            CHECK((count == 1 || count == 3));
            read_by_all += count == 3;
        }
        CHECK(read_by_all == everybodys);
    }
}

TEST_CASE("a deal has another name wherever shards may overlap") {
    const sotto::detail::data::shard half{0, 2, 0.25};
    const std::string one = sotto::data::deal_of(half, 7, 240);
    CHECK(one == "240 to 2 shards, 0.25 in common, by seed 7");
    CHECK(sotto::data::deal_of({1, 2, 0.25}, 7, 240) == one);
    CHECK(sotto::data::deal_of({0, 3, 0.25}, 7, 240) != one);
    CHECK(sotto::data::deal_of({0, 2, 0.5}, 7, 240) != one);
    CHECK(sotto::data::deal_of(half, 8, 240) != one);
    CHECK(sotto::data::deal_of(half, 7, 241) != one);
    for (const sotto::detail::data::shard& whole :
         {sotto::detail::data::shard{}, sotto::detail::data::shard{1, 2, 1.0}})
        CHECK(sotto::data::deal_of(whole, 7, 240) == "all to everybody");
}

TEST_CASE("the shares of a shard are all of it") {
    std::set<std::int64_t> all;
    std::int64_t count = 0;
    for (std::int64_t rank = 0; rank < 2; ++rank) {
        sampler s(50, {rank, 2}, 4, random_stream{3}, true, {1, 2, 0.0}, random_stream{9});
        count += s.examples();
        for (std::int64_t i = 0; i < s.batches(); ++i)
            for (const std::int64_t example : s.batch(i)) all.insert(example);
    }
    CHECK(count == 25);
    CHECK(std::ssize(all) == 25);
}

TEST_CASE("a new epoch takes no memory") {
    sampler s(1000, {1, 2}, 32, random_stream{4});
    sampler of_a_shard(1000, {1, 2}, 32, random_stream{4}, true, {0, 2, 0.5});
    const support::allocation_count allocations;
    for (int epoch = 0; epoch < 3; ++epoch) {
        s.begin_epoch(epoch);
        of_a_shard.begin_epoch(epoch);
    }
    CHECK(allocations.on_this_thread() == 0);
}

TEST_CASE("a sampler refuses what cannot work") {
    const random_stream random{0};
    CHECK_THROWS_WITH_AS(sampler(10, {4, 4}, 1, random),
                         "sampler: share.index is 4; expected 0 to 4 exclusive, its count",
                         sotto::invalid_option);
    CHECK_THROWS_AS(sampler(10, {-1, 4}, 1, random), sotto::invalid_option);
    CHECK_THROWS_AS(sampler(10, {0, -1}, 1, random), sotto::invalid_option);
    CHECK_THROWS_WITH_AS(sampler(10, {1, 0}, 1, random),
                         "sampler: share.index is 1; expected 0, for an empty share",
                         sotto::invalid_option);
    CHECK_THROWS_AS(sampler(10, {}, 0, random), sotto::invalid_option);
    CHECK_THROWS_AS(sampler(-1, {}, 1, random), sotto::invalid_option);
    CHECK_THROWS_WITH_AS(sampler(10, {}, 1, random, true, {2, 2}),
                         "sampler: shard.index is 2; expected 0 to 2 exclusive",
                         sotto::invalid_option);
    CHECK_THROWS_AS(sampler(10, {}, 1, random, true, {0, 0}), sotto::invalid_option);
    CHECK_THROWS_WITH_AS(sampler(10, {}, 1, random, true, {0, 2, 1.5}),
                         "sampler: shard.common is 1.5; it must be at least 0 and at most 1",
                         sotto::invalid_option);
    sampler s(10, {}, 1, random);
    CHECK_THROWS_AS(s.begin_epoch(-1), sotto::invalid_option);
}
