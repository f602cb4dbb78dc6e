#include "sotto/data/dirichlet_split.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sotto/data/digits.hpp"

using namespace sotto;
using data::dirichlet_split;

namespace {

std::vector<std::int32_t> labels_of(std::int64_t n, int classes) {
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; i < n; ++i) labels.push_back(static_cast<std::int32_t>(i % classes));
    return labels;
}

/// The mean over ranks of the largest share that one label has of a rank's examples.
double lopsided(const std::vector<std::vector<std::int64_t>>& owned,
                const std::vector<std::int32_t>& labels, int classes) {
    double mean = 0.0;
    for (const auto& of_rank : owned) {
        std::vector<std::size_t> count(static_cast<std::size_t>(classes));
        for (const std::int64_t i : of_rank)
            ++count[static_cast<std::size_t>(labels[static_cast<std::size_t>(i)])];
        mean += static_cast<double>(*std::ranges::max_element(count)) /
                static_cast<double>(of_rank.size()) / static_cast<double>(owned.size());
    }
    return mean;
}

/// The variance over ranks and labels of a label's share of a rank's examples.
double variance_of_shares(const std::vector<std::vector<std::int64_t>>& owned,
                          const std::vector<std::int32_t>& labels, int classes) {
    double variance = 0.0;
    for (const auto& of_rank : owned) {
        std::vector<double> count(static_cast<std::size_t>(classes));
        for (const std::int64_t i : of_rank)
            count[static_cast<std::size_t>(labels[static_cast<std::size_t>(i)])] += 1.0;
        for (const double n : count) {
            const double off = n / static_cast<double>(of_rank.size()) - 1.0 / classes;
            variance += off * off / static_cast<double>(owned.size()) / classes;
        }
    }
    return variance;
}

}  // namespace

TEST_CASE("every example has one owner, and ranks own equally many") {
    const auto labels = labels_of(1003, 10);
    for (const double alpha : {0.01, 0.1, 1.0, 100.0})
        for (const std::int64_t ranks : {1, 2, 16, 2000}) {
            const auto owned = dirichlet_split(labels, ranks, alpha, random_stream{5});
            REQUIRE(std::ssize(owned) == ranks);
            std::vector<int> owners(labels.size());
            for (const auto& of_rank : owned) {
                CHECK(std::abs(std::ssize(of_rank) - 1003 / ranks) <= 1);
                for (const std::int64_t i : of_rank) ++owners[static_cast<std::size_t>(i)];
            }
            CHECK(std::ranges::all_of(owners, [](int n) { return n == 1; }));
        }
    CHECK(dirichlet_split({}, 3, 0.1, random_stream{1}).size() == 3);
}

TEST_CASE("the smaller alpha, the more lopsided; the same stream deals the same") {
    const auto labels = labels_of(16'000, 10);
    const auto by = [&](double alpha, std::uint64_t seed) {
        return dirichlet_split(labels, 16, alpha, random_stream{seed});
    };
    CHECK(lopsided(by(1e6, 1), labels, 10) < 0.16);
    CHECK(lopsided(by(10.0, 1), labels, 10) > lopsided(by(1e6, 1), labels, 10));
    CHECK(lopsided(by(1.0, 1), labels, 10) > lopsided(by(10.0, 1), labels, 10));
    CHECK(lopsided(by(0.1, 1), labels, 10) > 0.5);
    CHECK(by(0.1, 1) == by(0.1, 1));
    CHECK(by(0.1, 1) != by(0.1, 2));
}

TEST_CASE("dirichlet split: rank by rank -> the variance of the published split") {
    const auto labels = labels_of(20'000, 10);
    const auto mean_variance = [&](data::dirichlet_order order, double alpha) {
        double sum = 0.0;
        for (std::uint64_t seed = 0; seed < 40; ++seed)
            sum += variance_of_shares(dirichlet_split(labels, 8, alpha, random_stream{seed}, order),
                                      labels, 10);
        return sum / 40;
    };
    using enum data::dirichlet_order;
    CHECK(mean_variance(in_turns, 0.1) == doctest::Approx(0.032).epsilon(0.002));
    CHECK(mean_variance(rank_by_rank, 0.1) == doctest::Approx(0.050).epsilon(0.002));
    CHECK(mean_variance(in_turns, 1e6) < 2e-4);
    CHECK(mean_variance(rank_by_rank, 1e6) < 2e-4);
}

TEST_CASE("dirichlet split: rank by rank -> the first rank has its mixture") {
    // Of 100 ranks the first takes a hundredth of all, and meets no label that ran out: the
    // variance is that of Dirichlet(alpha / 10, ...), (0.1)(0.9) / (alpha + 1), and that of a
    // multinomial draw.
    const auto labels = labels_of(10'000, 10);
    double variance = 0.0;
    constexpr int seeds = 400;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const auto owned = dirichlet_split(labels, 100, 1.0, random_stream{seed},
                                           data::dirichlet_order::rank_by_rank);
        variance += variance_of_shares({owned[0]}, labels, 10) / seeds;
    }
    const double of_mixture = 0.1 * 0.9 / 2.0;
    CHECK(variance == doctest::Approx(of_mixture + (0.1 * 0.9 - of_mixture) / 100).epsilon(0.002));
}

TEST_CASE("dirichlet split: either order -> every example once") {
    for (const auto order : {data::dirichlet_order::in_turns, data::dirichlet_order::rank_by_rank})
        for (const std::int64_t ranks : {1, 3, 16, 2000}) {
            const auto labels = labels_of(1003, 10);
            const auto owned = dirichlet_split(labels, ranks, 0.1, random_stream{5}, order);
            std::vector<int> owners(labels.size());
            for (std::int64_t rank = 0; rank < ranks; ++rank) {
                const auto& of_rank = owned[static_cast<std::size_t>(rank)];
                CHECK(std::ssize(of_rank) == 1003 / ranks + (rank < 1003 % ranks ? 1 : 0));
                for (const std::int64_t i : of_rank) ++owners[static_cast<std::size_t>(i)];
            }
            CHECK(std::ranges::all_of(owners, [](int n) { return n == 1; }));
        }
    const auto digits = data::digits(100, random_stream{1});
    const auto share_of = [&](data::dirichlet_order order) {
        std::vector<std::int32_t> found;
        const auto own = data::dirichlet_share(digits, {0, 4}, 0.1, random_stream{2}, order);
        for (std::int64_t i = 0; i < own.size(); ++i) found.push_back(own.label(i));
        return found;
    };
    CHECK(share_of(data::dirichlet_order::in_turns) !=
          share_of(data::dirichlet_order::rank_by_rank));
}

TEST_CASE("mixtures stay lopsided where alpha is so small that their parts are below all doubles") {
    const auto labels = labels_of(16'000, 10);
    for (const double alpha : {0.03, 0.01, 0.003, 0.001, 1e-6, 1e-310}) {
        double first = 0.0;
        constexpr std::uint64_t seeds = 20;
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
            auto owned = dirichlet_split(labels, 16, alpha, random_stream{seed});
            for (auto& of_rank : owned) of_rank.resize(50);  // no label has run out by then
            first += lopsided(owned, labels, 10) / static_cast<double>(seeds);
        }
        CHECK(first > (alpha < 0.02 ? 0.99 : 0.97));
    }
}

TEST_CASE("at a tiny alpha a rank has one label until no example of it is left, then another") {
    const auto labels = labels_of(16'000, 10);
    for (const auto& of_rank : dirichlet_split(labels, 16, 1e-6, random_stream{3})) {
        int changes = 0;
        for (std::size_t i = 1; i < of_rank.size(); ++i)
            changes += labels[static_cast<std::size_t>(of_rank[i])] !=
                       labels[static_cast<std::size_t>(of_rank[i - 1])];
        CHECK(changes < 10);
    }
}

TEST_CASE("gamma draws have the mean and variance of their shape") {
    for (const double shape : {0.05, 0.5, 1.0, 3.0, 50.0}) {
        random_stream random{9};
        constexpr int draws = 200'000;
        double sum = 0.0, squares = 0.0;
        for (int i = 0; i < draws; ++i) {
            const double x = std::exp(sotto::detail::data::log_gamma_draw(random, shape));
            sum += x;
            squares += x * x;
        }
        const double mean = sum / draws;
        CHECK(mean == doctest::Approx(shape).epsilon(0.05));
        CHECK(squares / draws - mean * mean == doctest::Approx(shape).epsilon(0.1));
    }
}

TEST_CASE("ranks' parts of a set are its examples, and what cannot be is refused") {
    const auto digits = data::digits(200, random_stream{1});
    std::int64_t all = 0;
    for (std::int64_t rank = 0; rank < 4; ++rank)
        all += data::dirichlet_share(digits, {rank, 4}, 0.1, random_stream{2}).size();
    CHECK(all == 200);
    CHECK_THROWS_WITH(dirichlet_split(labels_of(4, 2), 0, 0.1, random_stream{1}),
                      "dirichlet_split: 0 ranks; at least 1 is possible");
    CHECK_THROWS_WITH(dirichlet_split(labels_of(4, 2), 2, 0.0, random_stream{1}),
                      "dirichlet_split: alpha is 0; it must be finite and above 0");
    CHECK_THROWS_AS(dirichlet_split(std::vector<std::int32_t>{0, -1}, 2, 1.0, random_stream{1}),
                    invalid_option);
    CHECK_THROWS_AS(data::dirichlet_share(digits, {4, 4}, 0.1, random_stream{2}), invalid_option);
}
