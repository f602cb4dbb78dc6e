#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/topologies/hypercube.hpp"
#include "sotto/topologies/lazy.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/topologies/random_regular.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/topologies/spectrum.hpp"
#include "sotto/topologies/star.hpp"
#include "sotto/topologies/torus.hpp"
#include "sotto/topologies/tree.hpp"
#include "support/plain_mixing.hpp"

using namespace sotto::topologies;
using namespace sotto::detail::topologies;
using sotto::testing::mixed, sotto::testing::squared_distance_to_mean;

namespace {

double lambda(const auto& topology, int size) {
    return second_singular_value(topology.bind(size).matrix(0));
}

/// Exactly, of a row that all ranks have shifted: its Fourier coefficients.
double lambda_of_circulant(const mixing_matrix& w) {
    double largest = 0.0;
    for (int k = 1; k < w.size(); ++k) {
        double real = 0.0, imaginary = 0.0;
        for (int j = 0; j < w.size(); ++j) {
            const double angle = 2.0 * std::numbers::pi * k * j / w.size();
            real += w.weight(0, j) * std::cos(angle);
            imaginary += w.weight(0, j) * std::sin(angle);
        }
        largest = std::max(largest, std::hypot(real, imaginary));
    }
    return largest;
}

bool reaches_all(auto state, int size) {
    std::vector<std::set<int>> heard(static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank) heard[static_cast<std::size_t>(rank)].insert(rank);
    for (int round = 0; round < 4 * size; ++round) {
        auto next = heard;
        for (int rank = 0; rank < size; ++rank)
            for (const neighbour& n : state.matrix(round).into(rank))
                next[static_cast<std::size_t>(rank)].merge(
                    std::set(heard[static_cast<std::size_t>(n.rank)]));
        heard = next;
    }
    for (const auto& of_rank : heard)
        if (std::ssize(of_rank) != size) return false;
    return true;
}

}  // namespace

TEST_CASE("second singular values and p are those of the literature, to the last digit there") {
    const auto is_as_in = [](const auto& topology, int size, double lambda, double p) {
        CAPTURE(size);
        auto state = topology.bind(size);
        const sotto::detail::topologies::mixing_summary found = summary_of(state);
        CHECK(std::abs(found.second_singular_value - lambda) < 5e-5);
        CHECK(std::abs(found.p() - p) < (p < 0.1 ? 5e-5 : 5e-4));
    };
    is_as_in(ring{}, 8, 0.8047, 0.352);
    is_as_in(ring{}, 16, 0.9493, 0.0989);
    is_as_in(ring{}, 32, 0.9872, 0.0255);
    is_as_in(ring{}, 64, 0.9968, 0.0064);
    is_as_in(torus{}, 16, 0.6000, 0.640);
    is_as_in(torus{}, 64, 0.8828, 0.221);
    is_as_in(hypercube{}, 8, 0.5000, 0.750);
    is_as_in(hypercube{}, 16, 0.6000, 0.640);
    is_as_in(hypercube{}, 32, 0.6667, 0.556);
    is_as_in(hypercube{}, 64, 0.7143, 0.490);
    is_as_in(exponential{}, 8, 0.5000, 0.750);
    is_as_in(exponential{}, 16, 0.6000, 0.640);
    is_as_in(exponential{}, 32, 0.6667, 0.556);
    is_as_in(exponential{}, 64, 0.7143, 0.490);
    is_as_in(complete{}, 8, 0.0, 1.0);
    is_as_in(complete{}, 16, 0.0, 1.0);
    is_as_in(complete{}, 32, 0.0, 1.0);
    is_as_in(complete{}, 64, 0.0, 1.0);
}

TEST_CASE("second singular values of what closes to a ring equal its Fourier coefficients") {
    for (const int size : {2, 3, 5, 8, 12, 31, 64, 100}) {
        CHECK(lambda(ring{}, size) ==
              doctest::Approx(lambda_of_circulant(ring{}.bind(size).matrix(0))).epsilon(1e-9));
        CHECK(
            lambda(exponential{}, size) ==
            doctest::Approx(lambda_of_circulant(exponential{}.bind(size).matrix(0))).epsilon(1e-9));
    }
    CHECK(
        lambda(ring{}, 1000) ==
        doctest::Approx(1.0 / 3 + 2.0 / 3 * std::cos(2 * std::numbers::pi / 1000)).epsilon(1e-10));
}

TEST_CASE_TEMPLATE("any number of ranks is joined, keeps its mean and reaches everybody", Topology,
                   ring, torus, hypercube, exponential, one_peer_exponential, star, complete, tree,
                   random_matching, lazy<ring>) {
    for (int size = 1; size <= 17; ++size) {
        CAPTURE(size);
        auto state = Topology{}.bind(size);
        for (std::int64_t round = 0; round < 8; ++round)
            CHECK_NOTHROW(state.matrix(round).require_doubly_stochastic());
        CHECK(reaches_all(Topology{}.bind(size), size));
    }
}

TEST_CASE_TEMPLATE("a round shrinks the distance to the mean by no less than its singular value",
                   Topology, ring, torus, hypercube, exponential, star, tree, lazy<ring>) {
    for (const int size : {2, 5, 8, 12, 16}) {
        auto state = Topology{}.bind(size);
        const mixing_matrix& w = state.matrix(0);
        const double lambda = second_singular_value(w);
        sotto::random_stream random(7);
        for (int trial = 0; trial < 20; ++trial) {
            std::vector<double> x(static_cast<std::size_t>(size));
            for (double& value : x) value = random.normal();
            CHECK(squared_distance_to_mean(mixed(w, x)) <=
                  lambda * lambda * squared_distance_to_mean(x) * (1 + 1e-9));
        }
    }
}

TEST_CASE("on the second eigenvector of a ring it shrinks by just that") {
    for (const int size : {4, 8, 16, 64}) {
        const auto state = ring{}.bind(size);
        std::vector<double> x;
        for (int i = 0; i < size; ++i) x.push_back(std::cos(2 * std::numbers::pi * i / size));
        const double lambda = second_singular_value(state.matrix(0));
        CHECK(squared_distance_to_mean(mixed(state.matrix(0), x)) ==
              doctest::Approx(lambda * lambda * squared_distance_to_mean(x)).epsilon(1e-9));
    }
}

TEST_CASE("rounds by one peer each give the mean after as many as there are bits") {
    for (const int size : {2, 4, 8, 16, 64}) {
        const auto state = one_peer_exponential{}.bind(size);
        std::vector<double> x;
        for (int i = 0; i < size; ++i) x.push_back(i % 5 == 0 ? 3.0 * i : 1.0 - i);
        double mean = 0.0;
        for (const double value : x) mean += value / size;
        CHECK(state.period() == std::countr_zero(static_cast<unsigned>(size)));
        for (std::int64_t round = 0; round < state.period(); ++round)
            x = mixed(state.matrix(round), x);
        for (const double value : x) CHECK(value == doctest::Approx(mean).epsilon(1e-12));
        std::vector<mixing_matrix> all;
        for (std::int64_t round = 0; round < state.period(); ++round)
            all.push_back(state.matrix(round));
        CHECK(second_singular_value(all) < 1e-7);
    }
    CHECK(one_peer_exponential{}.bind(6).period() == 3);
}

TEST_CASE("mixing so many times is one mixing by the matrix to that power") {
    const auto state = torus{}.bind(12);
    const std::vector<mixing_matrix> three(3, state.matrix(0));
    CHECK(second_singular_value(three) ==
          doctest::Approx(std::pow(lambda(torus{}, 12), 3)).epsilon(1e-9));
}

TEST_CASE("a torus takes any rectangle, and refuses what is none") {
    CHECK(torus{.rows = 2, .columns = 3}.bind(6).matrix(0).weight(0, 3) == doctest::Approx(0.4));
    CHECK(torus{.rows = 3}.bind(12).matrix(0).degree() == 4);
    CHECK(torus{.columns = 5}.bind(5).matrix(0) == ring{}.bind(5).matrix(0));
    CHECK(torus{}.bind(7).matrix(0) == ring{}.bind(7).matrix(0));  // a prime has one rectangle
    CHECK(torus{}.bind(12).matrix(0) == torus{.rows = 3, .columns = 4}.bind(12).matrix(0));
    CHECK_THROWS_WITH((torus{.rows = 3, .columns = 4}.bind(16)),
                      "topologies::torus: 3 rows and 4 columns for 16 ranks; their product must be "
                      "the number of ranks, or one of them 0, which is found, or both");
    CHECK_THROWS_AS(torus{.rows = 5}.bind(12), sotto::invalid_option);
    CHECK_THROWS_AS((torus{.rows = -2, .columns = -6}.bind(12)), sotto::invalid_option);
}

TEST_CASE("a hypercube has uneven numbers of ranks, too") {
    CHECK(hypercube{}.bind(6).matrix(0).weight(5, 1) == doctest::Approx(1.0 / 4));
    CHECK(hypercube{}.bind(6).matrix(0).weight(5, 7 % 6) == doctest::Approx(1.0 / 4));
    CHECK(hypercube{}.bind(6).matrix(0).degree() == 3);
}

TEST_CASE("matchings pair everybody, differ from round to round and repeat by their seed") {
    auto state = random_matching{.seed = 3}.bind(9), again = random_matching{.seed = 3}.bind(9);
    std::set<int> alone;
    int same = 0;
    for (std::int64_t round = 0; round < 200; ++round) {
        const mixing_matrix w = state.matrix(round);
        CHECK(w == again.matrix(round));
        CHECK(w.is_symmetric());
        int pairs = 0;
        for (int rank = 0; rank < 9; ++rank) {
            CHECK(w.into(rank).size() <= 1);
            pairs += !w.into(rank).empty();
            if (w.into(rank).empty()) alone.insert(rank);
        }
        CHECK(pairs == 8);
        same += w == state.matrix(round + 1);
    }
    CHECK(alone.size() == 9);
    CHECK(same < 5);
    CHECK(state.period() == 0);
    CHECK(random_matching{.seed = 4}.bind(9).matrix(0) != again.matrix(0));
}

TEST_CASE("matchings leave (n - 2) / (2 (n - 1)) of the squared distance on average, or half") {
    constexpr int rounds = 20000;
    const auto measured = [](auto state, int size) {
        std::vector<double> x;
        for (int i = 0; i < size; ++i) x.push_back(i * i);
        double left = 0.0;
        for (std::int64_t round = 0; round < rounds; ++round)
            left += squared_distance_to_mean(mixed(state.matrix(round), x)) / rounds;
        return left / squared_distance_to_mean(x);
    };
    for (const int size : {2, 3, 5, 8, 16}) {
        CAPTURE(size);
        const auto state = random_matching{}.bind(size);
        const double expected = size % 2 == 0 ? (size - 2.0) / (2.0 * (size - 1.0)) : 0.5;
        CHECK(measured(state, size) == doctest::Approx(expected).epsilon(0.02));
        CHECK(state.mean_contraction() == doctest::Approx(std::sqrt(expected)));
        auto lazily = lazy{random_matching{}, 0.25}.bind(size);
        CHECK(measured(lazily, size) <= (1 + 1e-9) * std::pow(lazily.mean_contraction(), 2));
    }
    CHECK(random_matching{}.bind(1).mean_contraction() == 0.0);
}

TEST_CASE("random graphs are regular and connected, and impossible ones are refused") {
    for (const auto& [degree, size] :
         {std::pair{2, 5}, {3, 8}, {3, 4}, {4, 16}, {4, 33}, {7, 20}, {1, 2}}) {
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            const random_regular options{.degree = degree, .seed = seed};
            const mixing_matrix w = options.bind(size).matrix(0);
            for (int rank = 0; rank < size; ++rank) CHECK(std::ssize(w.into(rank)) == degree);
            CHECK(w.is_symmetric());
            CHECK(reaches_all(options.bind(size), size));
            CHECK(w == options.bind(size).matrix(0));
        }
    }
    CHECK_THROWS_WITH((random_regular{.degree = 3}.bind(5)),
                      "topologies::random_regular: degree 3 for 5 ranks; it must be below their "
                      "number, even where that is odd, and at least 2 for more than two");
    CHECK_THROWS_AS((random_regular{.degree = 4}.bind(4)), sotto::invalid_option);
    CHECK_THROWS_AS((random_regular{.degree = 0}.bind(4)), sotto::invalid_option);
    CHECK_THROWS_AS((random_regular{.degree = 1}.bind(4)), sotto::invalid_option);
    CHECK(random_regular{}.bind(1).matrix(0) == mixing_matrix(1));
}

TEST_CASE("what is lazy halves links, and has no eigenvalue below 0") {
    auto state = lazy{ring{}}.bind(8);
    CHECK(state.matrix(0).weight(0, 1) == doctest::Approx(1.0 / 6));
    CHECK(smallest_eigenvalue(ring{}.bind(8).matrix(0)) == doctest::Approx(-1.0 / 3));
    CHECK(smallest_eigenvalue(state.matrix(0)) == doctest::Approx(1.0 / 3));
    CHECK(second_singular_value(state.matrix(0)) == doctest::Approx(0.5 + 0.5 * lambda(ring{}, 8)));
    auto rounds = lazy{one_peer_exponential{}, 0.25}.bind(8);
    CHECK(rounds.period() == 3);
    CHECK(rounds.matrix(4).weight(2, 0) == doctest::Approx(0.125));
    CHECK(rounds.matrix(3).weight(1, 0) == doctest::Approx(0.125));
    CHECK_THROWS_WITH((lazy{ring{}, 0.0}.bind(4)),
                      "topologies::lazy: share is 0; it must be above 0 and at most 1");
}

TEST_CASE(
    "a summary names period, links and singular value, and what is no mixing matrix is refused") {
    auto ring16 = ring{}.bind(16);
    const sotto::detail::topologies::mixing_summary found = summary_of(ring16);
    CHECK(found.ranks == 16);
    CHECK(found.period == 1);
    CHECK(found.degree == 2);
    CHECK(found.p() == doctest::Approx(0.0989).epsilon(1e-3));
    CHECK(found.mean_contraction == found.second_singular_value);
    auto peers = one_peer_exponential{}.bind(16);
    CHECK(summary_of(peers).period == 4);
    CHECK(summary_of(peers).degree == 1);
    CHECK(summary_of(peers).second_singular_value < 1e-2);
    auto drawn = random_matching{}.bind(16);
    CHECK(std::isnan(summary_of(drawn).second_singular_value));
    CHECK(summary_of(drawn).p() == doctest::Approx(16.0 / 30.0));
    auto lazily = lazy{random_matching{}}.bind(16);
    CHECK(summary_of(lazily).mean_contraction ==
          doctest::Approx(0.5 + 0.5 * std::sqrt(14.0 / 30.0)));
    auto leaning = repeated([] {
        mixing_matrix w(2);
        w.link(0, 1, 0.5);
        return w;
    }());
    CHECK_THROWS_AS(summary_of(leaning), sotto::invalid_option);
    auto at_times_leaning = repeated(std::vector{mixing_matrix(2), leaning.matrix(0)});
    CHECK_THROWS_WITH(summary_of(at_times_leaning),
                      doctest::Contains("topology: in round 1 row 0 adds up to 1, its column to"));
}
