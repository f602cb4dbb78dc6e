#include "sotto/topologies/spectrum.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <numbers>
#include <thread>
#include <vector>

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
