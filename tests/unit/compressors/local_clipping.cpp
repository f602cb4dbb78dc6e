#include "sotto/compressors/local_clipping.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/residual.hpp"
#include "support/generators.hpp"

using namespace sotto;

TEST_CASE("the factor brings a gradient to the norm over the root of the workers") {
    const std::vector<float> gradient{3.0f, 0.0f, -4.0f};  // of length 5
    CHECK(local_clipping{.norm = 1.0}.factor(gradient, 1.0) == doctest::Approx(0.2));
    CHECK(local_clipping{.norm = 1.0}.factor(gradient, 1.0 / 4) == doctest::Approx(0.1));
    CHECK(local_clipping{.norm = 1.0}.factor(gradient, 1.0 / 100) == doctest::Approx(0.02));
    CHECK(local_clipping{.norm = 20.0}.factor(gradient, 1.0 / 100) == doctest::Approx(0.4));
}

TEST_CASE("gradients at or below the limit, and those of nothing, are left alone") {
    const std::vector<float> gradient{3.0f, 0.0f, -4.0f};
    CHECK(local_clipping{.norm = 5.0}.factor(gradient, 1.0) == 1.0f);
    CHECK(local_clipping{.norm = 10.0}.factor(gradient, 1.0 / 4) == 1.0f);
    CHECK(local_clipping{}.factor(gradient, 1.0 / 4) == 1.0f);
    CHECK(local_clipping{.norm = 1.0}.factor(std::vector<float>(9), 1.0 / 4) == 1.0f);
    CHECK(local_clipping{.norm = 1.0}.factor({}, 1.0 / 4) == 1.0f);
}

TEST_CASE("lengths are sums in double: neither huge nor tiny gradients overflow or vanish") {
    const std::vector<float> huge(100, 1e30f), tiny(100, 1e-30f);
    CHECK(local_clipping{.norm = 1.0}.factor(huge, 1.0) == doctest::Approx(1e-31));
    CHECK(local_clipping{.norm = 1e-30}.factor(tiny, 1.0) == doctest::Approx(0.1));
}

TEST_CASE("a norm that is negative or no number is refused") {
    const layout tensors = testing::small_layout();
    CHECK_THROWS_WITH_AS(
        dgc{.clip_norm = -2.0}.bind(tensors),
        "local_clipping: norm is -2.000000; it must be positive, or 0 for no clipping",
        invalid_option);
    CHECK_THROWS_AS(dgc{.clip_norm = std::nan("")}.bind(tensors), invalid_option);
}

TEST_CASE("clipping before the accumulation keeps what is remembered within the limit") {
    layout tensors;
    tensors.add("w", {50, 10});
    const tensor& t = tensors[0];
    auto worker = sparsified{
        top_k{.density = 0.01}, residual{}, constant_density{},
        local_clipping{
            1.0}}.bind(tensors);
    constexpr int rounds = 9, workers = 9;
    for (int step = 0; step < rounds; ++step) {
        worker.begin_round({.step = step, .world_size = workers});
        bytes message;
        worker.encode(t, testing::normal_values(500, static_cast<std::uint64_t>(step)), message);
        worker.commit();
        double length = 0.0;
        for (const float v : worker.memory().unsent(t)) length += double{v} * v;
        CHECK(std::sqrt(length) <= (step + 1) / std::sqrt(double{workers}) * (1 + 1e-6));
    }
}
