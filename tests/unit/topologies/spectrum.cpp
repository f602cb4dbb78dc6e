#include "sotto/topologies/spectrum.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <thread>
#include <vector>

#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/topologies/ring.hpp"

using namespace sotto;

namespace {

double lambda_of_ring(int ranks) {
    auto ring = topologies::ring{}.bind(ranks);
    return topologies::summary_of(ring).second_singular_value;
}

double exact(int ranks) {
    return (1.0 + 2.0 * std::cos(2.0 * std::numbers::pi / ranks)) / 3.0;
}

}  // namespace

TEST_CASE("what is kept of one graph is not taken for another's") {
    for (const int ranks : {8, 16, 16, 8, 5})
        CHECK(lambda_of_ring(ranks) == doctest::Approx(exact(ranks)));
}

TEST_CASE("threads that ask for graphs of their own get these") {
    std::vector<double> found(8);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < found.size(); ++i)
        threads.emplace_back([&, i] { found[i] = lambda_of_ring(4 + static_cast<int>(i)); });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(found[i] == doctest::Approx(exact(4 + static_cast<int>(i))));
}

TEST_CASE("singular value: rounds after which all have the mean -> exactly 0") {
    for (const int ranks : {2, 4, 8, 16, 32, 64, 256}) {
        CAPTURE(ranks);
        auto peers = topologies::one_peer_exponential{}.bind(ranks);
        const auto found = topologies::summary_of(peers);
        CHECK(found.second_singular_value == 0.0);
        CHECK(found.p() == 1.0);
    }
    for (const int ranks : {2, 3, 5, 7, 64}) {
        CAPTURE(ranks);
        auto all = topologies::complete{}.bind(ranks);
        CHECK(topologies::summary_of(all).second_singular_value == 0.0);
    }
}

TEST_CASE("singular value: a round that leaves little of differences -> what it leaves") {
    // Each rank takes as much of all others, and a little more of itself than they of it.
    for (const double left : {0.05, 1e-3, 1e-6}) {
        CAPTURE(left);
        topologies::mixing_matrix nearly(4);
        for (int a = 0; a < 4; ++a)
            for (int b = 0; b < a; ++b) {
                nearly.link(a, b, (1.0 - left) / 4);
                nearly.link(b, a, (1.0 - left) / 4);
            }
        CHECK(topologies::second_singular_value(nearly) == doctest::Approx(left).epsilon(1e-6));
    }
}

TEST_CASE("singular value: a product below rounding -> its value") {
    // 100 rounds of a ring of 4 leave (1/3)^100 of differences, 2e-48.
    const auto ring = topologies::ring{}.bind(4).matrix(0);
    auto often = topologies::repeated(std::vector(100, ring));
    CHECK(topologies::summary_of(often).second_singular_value ==
          doctest::Approx(1.0 / 3.0).epsilon(1e-9));
}

TEST_CASE("singular value: one peer, no power of two -> the product's") {
    // The product is circulant: its values are those of prod over k of (1 + z^(2^k)) / 2 at the
    // roots of one z.
    for (const int ranks : {3, 6, 12, 100}) {
        CAPTURE(ranks);
        auto peers = topologies::one_peer_exponential{}.bind(ranks);
        const auto found = topologies::summary_of(peers);
        double largest = 0.0;
        for (int root = 1; root < ranks; ++root) {
            double product = 1.0;
            for (std::int64_t k = 0; k < found.period; ++k)
                product *= std::abs(std::cos(std::numbers::pi * root *
                                             static_cast<double>(std::int64_t{1} << k) / ranks));
            largest = std::max(largest, product);
        }
        CHECK(std::pow(found.second_singular_value, static_cast<double>(found.period)) ==
              doctest::Approx(largest).epsilon(1e-9));
    }
}
