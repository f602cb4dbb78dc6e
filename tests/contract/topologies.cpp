// What every topology promises, whoever is linked with whom.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/topologies/detail/connected.hpp"
#include "sotto/topologies/spectrum.hpp"
#include "sotto/topologies/topology.hpp"
#include "support/all_gossip_policies.hpp"
#include "support/allocation_count.hpp"
#include "support/plain_mixing.hpp"

using namespace sotto;
using testing::mean_of, testing::mixed;
using topologies::mixing_matrix, sotto::detail::topologies::neighbour;

namespace {

constexpr std::int64_t rounds_looked_at = 24;

template <class Topology>
auto bound(int ranks) {
    return testing::sensible<Topology>::options().bind(ranks);
}

template <class Topology>
void with_every_size(auto&& check) {
    for (const int ranks : testing::sizes_of<Topology>()) {
        CAPTURE(ranks);
        check(ranks);
    }
}

double distance_to_mean(const std::vector<double>& x) {
    return std::sqrt(testing::squared_distance_to_mean(x));
}

std::vector<double> spread(int ranks) {
    random_stream random(7);
    std::vector<double> x(static_cast<std::size_t>(ranks));
    for (double& value : x) value = random.normal();
    return x;
}

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("rows and columns add up to 1, and no weight is below 0", T,
                          is_doubly_stochastic) {
    static_assert(topology<T>);
    with_every_size<T>([](int ranks) {
        auto state = bound<T>(ranks);
        for (std::int64_t round = 0; round < rounds_looked_at; ++round) {
            const mixing_matrix& w = state.matrix(round);
            REQUIRE(w.size() == ranks);
            CHECK_NOTHROW(w.require_doubly_stochastic());
            for (int rank = 0; rank < ranks; ++rank) {
                CHECK(w.own_weight(rank) >= -1e-12);
                CHECK(w.kept_share(rank) >= -1e-12);
                for (const sotto::detail::topologies::neighbour& n : w.into(rank)) {
                    CHECK(n.rank != rank);
                    CHECK(n.weight > 0.0);
                }
            }
        }
    });
}
TEST_CASE_TEMPLATE_APPLY(is_doubly_stochastic, testing::every_topology);

TEST_CASE_TEMPLATE_DEFINE("what a rank mixes in is what others send it", T, links_have_two_ends) {
    with_every_size<T>([](int ranks) {
        auto state = bound<T>(ranks);
        for (std::int64_t round = 0; round < rounds_looked_at; ++round) {
            const mixing_matrix& w = state.matrix(round);
            std::size_t in = 0, out = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                in += w.into(rank).size();
                out += w.out_of(rank).size();
                for (const sotto::detail::topologies::neighbour& n : w.out_of(rank))
                    CHECK(w.weight(n.rank, rank) == n.weight);
                CHECK(std::ranges::is_sorted(w.into(rank), {},
                                             &sotto::detail::topologies::neighbour::rank));
                CHECK(std::ranges::is_sorted(w.out_of(rank), {},
                                             &sotto::detail::topologies::neighbour::rank));
            }
            CHECK(in == out);
        }
    });
}
TEST_CASE_TEMPLATE_APPLY(links_have_two_ends, testing::every_topology);

TEST_CASE_TEMPLATE_DEFINE("what brings ranks together is not refused", T, is_connected) {
    with_every_size<T>([](int ranks) {
        auto state = bound<T>(ranks);
        CHECK_NOTHROW(sotto::detail::topologies::require_connected(state));
    });
}
TEST_CASE_TEMPLATE_APPLY(is_connected, testing::every_topology);

TEST_CASE_TEMPLATE_DEFINE("ranks come together, and where their mean was", T, comes_together) {
    with_every_size<T>([](int ranks) {
        auto state = bound<T>(ranks);
        std::vector<double> x = spread(ranks);
        const double mean = mean_of(x), before = distance_to_mean(x);
        for (std::int64_t round = 0; round < 2000; ++round) {
            const double last = distance_to_mean(x);
            x = mixed(state.matrix(round), x);
            CHECK(distance_to_mean(x) <= last + 1e-12);
        }
        CHECK(mean_of(x) == doctest::Approx(mean).epsilon(1e-9));
        CHECK(distance_to_mean(x) <= 1e-6 * before);
    });
}
TEST_CASE_TEMPLATE_APPLY(comes_together, testing::every_topology);

TEST_CASE_TEMPLATE_DEFINE("its second singular value bounds what a period leaves of a distance", T,
                          keeps_its_bound) {
    with_every_size<T>([](int ranks) {
        auto state = bound<T>(ranks);
        const auto summary = topologies::summary_of(state);
        CHECK(summary.ranks == ranks);
        CHECK(summary.period == state.period());
        if (summary.period == 0) {
            CHECK(std::isnan(summary.second_singular_value));
            if (std::isnan(summary.mean_contraction)) return;
            constexpr int drawn = 2000;
            const std::vector<double> x = spread(ranks);
            double left = 0.0;
            for (std::int64_t round = 0; round < drawn; ++round)
                left += std::pow(distance_to_mean(mixed(state.matrix(round), x)), 2) / drawn;
            const double most = summary.mean_contraction * distance_to_mean(x);
            CHECK(left <= 1.05 * most * most + 1e-12);
            return;
        }
        CHECK(summary.mean_contraction == summary.second_singular_value);
        CHECK(summary.second_singular_value >= 0.0);
        CHECK((ranks == 1 || summary.second_singular_value < 1.0));
        std::vector<double> x = spread(ranks);
        const double before = distance_to_mean(x);
        for (std::int64_t round = 0; round < summary.period; ++round) {
            CHECK(state.matrix(round).degree() <= summary.degree);
            x = mixed(state.matrix(round), x);
        }
        const double left =
            std::pow(summary.second_singular_value, static_cast<double>(summary.period));
        CHECK(distance_to_mean(x) <= left * before * (1.0 + 1e-9) + 1e-12);
    });
}
TEST_CASE_TEMPLATE_APPLY(keeps_its_bound, testing::every_topology);

TEST_CASE_TEMPLATE_DEFINE("all ranks see the same matrices, whenever they ask for which", T,
                          is_the_same_everywhere) {
    with_every_size<T>([](int ranks) {
        auto forth = bound<T>(ranks), back = bound<T>(ranks);
        std::vector<mixing_matrix> seen;
        for (std::int64_t round = 0; round < rounds_looked_at; ++round)
            seen.push_back(forth.matrix(round));
        for (std::int64_t round = rounds_looked_at; round-- > 0;) {
            CHECK(back.matrix(round) == seen[static_cast<std::size_t>(round)]);
            if (const std::int64_t period = back.period(); period > 0)
                CHECK(back.matrix(round + period) == seen[static_cast<std::size_t>(round)]);
        }
    });
}
TEST_CASE_TEMPLATE_APPLY(is_the_same_everywhere, testing::every_topology);

TEST_CASE_TEMPLATE_DEFINE("no ranks, or fewer, are refused", T, refuses_nobody) {
    for (const int ranks : {0, -1}) CHECK_THROWS_AS(bound<T>(ranks), invalid_option);
}
TEST_CASE_TEMPLATE_APPLY(refuses_nobody, testing::every_topology);

TEST_CASE_TEMPLATE_DEFINE("after some rounds matrices take no memory", T, takes_no_memory) {
    if (!support::allocation_count::works) {
        MESSAGE("skipped: allocations are not counted under sanitizers");
        return;
    }
    with_every_size<T>([](int ranks) {
        auto state = bound<T>(ranks);
        for (std::int64_t round = 0; round < 100; ++round) state.matrix(round);
        const support::allocation_count count;
        int links = 0;
        for (std::int64_t round = 100; round < 200; ++round) links += state.matrix(round).degree();
        CHECK(count.on_this_thread() == 0);
        CHECK((links > 0) == (ranks > 1));
    });
}
TEST_CASE_TEMPLATE_APPLY(takes_no_memory, testing::every_topology);
