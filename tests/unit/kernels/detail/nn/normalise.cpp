#include "sotto/kernels/detail/nn/normalise.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/generators.hpp"

namespace kernels = sotto::kernels;

namespace {
std::vector<float> uniform(std::size_t n, std::uint64_t seed) {
    return sotto::testing::uniform_values(static_cast<std::int64_t>(n), seed);
}
}  // namespace

TEST_CASE("normalisation equals the plain loops at every length and misalignment") {
    for (std::size_t n = 0; n <= 150; ++n)
        for (const std::size_t shift : {0u, 1u, 3u})
            for (const bool rectified : {false, true}) {
                CAPTURE(n);
                CAPTURE(shift);
                CAPTURE(rectified);
                const auto part = [&](auto& values) { return std::span(values).subspan(shift, n); };
                const auto x = uniform(n + shift, 1), dy = uniform(n + shift, 2);
                std::vector<float> y(n + shift + 1, 42.0f), dx(n + shift + 1, 42.0f);
                const sotto::detail::kernels::normalisation how{0.25f, 1.5f, -0.125f, rectified};

                const auto sums = sotto::detail::kernels::sums_of_deviations(part(x), how.mean);
                sotto::detail::kernels::normalise(part(x), part(y), how);
                const auto back = sotto::detail::kernels::sums_of_gradients(part(x), part(dy), how);
                sotto::detail::kernels::normalise_back(part(x), part(dy), part(dx), how, 0.5f,
                                                       0.75f);
                double first = 0.0, second = 0.0, changes = 0.0, products = 0.0;
                bool close = true;
                for (std::size_t i = shift; i < n + shift; ++i) {
                    const double deviation = double{x[i]} - 0.25;
                    first += deviation;
                    second += deviation * deviation;
                    const double value = 1.5 * deviation - 0.125;
                    const double expected = rectified && value < 0.0 ? 0.0 : value;
                    close = close && std::abs(y[i] - expected) < 1e-6;
                    const double change = rectified && y[i] <= 0.0f ? 0.0 : double{dy[i]};
                    changes += change;
                    products += change * deviation;
                    close =
                        close && std::abs(dx[i] - (1.5 * (change - 0.5) - 0.75 * deviation)) < 1e-6;
                }
                CHECK(close);
                CHECK(std::abs(sums.first - first) < 5e-5);
                CHECK(std::abs(sums.second - second) < 5e-5);
                CHECK(std::abs(back.first - changes) < 5e-5);
                CHECK(std::abs(back.second - products) < 5e-5);
                CHECK(y.back() == 42.0f);
                CHECK(dx.back() == 42.0f);
                for (std::size_t i = 0; i < shift; ++i) CHECK(y[i] == 42.0f);
            }
}

TEST_CASE("normalisation keeps a NaN, and so does a rectified one") {
    const std::vector<float> x(40, std::nanf(""));
    for (const bool rectified : {false, true}) {
        std::vector<float> y(40);
        sotto::detail::kernels::normalise(x, y, {0.0f, 1.0f, 0.0f, rectified});
        for (const float value : y) CHECK(std::isnan(value));
    }
}
