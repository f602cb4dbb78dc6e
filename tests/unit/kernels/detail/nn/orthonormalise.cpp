#include "sotto/kernels/detail/nn/orthonormalise.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "support/generators.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::instruction_set;
using sotto::testing::on_every_set;
using sotto::testing::same_values;

namespace {

using floats = std::vector<float>;

floats normal_values(std::size_t n, std::uint64_t seed) {
    return sotto::testing::normal_values(static_cast<std::int64_t>(n), seed);
}

std::size_t orthonormalise(std::size_t length, floats& vectors) {
    std::vector<double> wide(vectors.size());
    return sotto::detail::kernels::orthonormalise(length, vectors, wide);
}

double product(std::span<const float> vectors, std::size_t length, std::size_t i, std::size_t j) {
    double sum = 0.0;
    for (std::size_t k = 0; k < length; ++k)
        sum += double{vectors[i * length + k]} * vectors[j * length + k];
    return sum;
}

}  // namespace

TEST_CASE("vectors become orthonormal and keep what they span, one after the other") {
    for (const std::size_t length : {3u, 8u, 25u, 700u})
        for (std::size_t count = 1; count <= std::min<std::size_t>(length, 5); ++count) {
            const floats given = normal_values(length * count, length + count);
            floats found = given;
            CHECK(orthonormalise(length, found) == 0);
            for (std::size_t i = 0; i < count; ++i) {
                for (std::size_t j = 0; j <= i; ++j)
                    CHECK(std::abs(product(found, length, i, j) - (i == j ? 1.0 : 0.0)) < 1e-6);
                // What was given is the sum of its parts along the first i + 1.
                for (std::size_t k = 0; k < length; ++k) {
                    double sum = 0.0;
                    for (std::size_t j = 0; j <= i; ++j) {
                        double part = 0.0;
                        for (std::size_t l = 0; l < length; ++l)
                            part += double{given[i * length + l]} * found[j * length + l];
                        sum += part * found[j * length + k];
                    }
                    CHECK(std::abs(sum - given[i * length + k]) < 1e-5);
                }
            }
        }
}

TEST_CASE("nearly equal vectors become orthogonal all the same") {
    constexpr std::size_t length = 100;
    for (const float apart : {1e-2f, 1e-4f, 1e-6f}) {
        floats vectors = normal_values(length, 1);
        vectors.resize(2 * length);
        const floats other = normal_values(length, 2);
        for (std::size_t k = 0; k < length; ++k)
            vectors[length + k] = vectors[k] + apart * other[k];
        CHECK(orthonormalise(length, vectors) == 0);
        CHECK(std::abs(product(vectors, length, 0, 1)) < 0x1p-20);
    }
}

TEST_CASE("what depends on the vectors before it becomes zero, and is counted") {
    constexpr std::size_t length = 20;
    floats vectors = normal_values(5 * length, 1);
    for (std::size_t k = 0; k < length; ++k) {
        vectors[1 * length + k] = 4.0f * vectors[k];
        vectors[3 * length + k] = 0.0f;
    }
    CHECK(orthonormalise(length, vectors) == 2);
    for (const std::size_t i : {1u, 3u}) CHECK(product(vectors, length, i, i) == 0.0);
    for (const std::size_t i : {0u, 2u, 4u})
        CHECK(product(vectors, length, i, i) == doctest::Approx(1.0));
    CHECK(std::abs(product(vectors, length, 2, 4)) < 1e-6);

    // More vectors than dimensions.
    floats many = normal_values(12, 3);
    CHECK(orthonormalise(3, many) == 1);
}

TEST_CASE("lengths from the smallest to the largest of floats are no matter") {
    for (const float scale : {1e-44f, 1e-38f, 1e-20f, 1e20f, 3e37f}) {
        floats vectors = sotto::testing::integer_values(60, 4);
        for (float& x : vectors) x *= scale;
        CHECK(orthonormalise(30, vectors) == 0);
        for (std::size_t i = 0; i < 2; ++i)
            CHECK(product(vectors, 30, i, i) == doctest::Approx(1.0));
        CHECK(std::abs(product(vectors, 30, 0, 1)) < 1e-6);
    }
}

TEST_CASE("every instruction set gives the same bits") {
    for (std::size_t length = 1; length <= 67; ++length) {
        const floats given = normal_values(3 * length, length);
        floats expected = given;
        const std::size_t dependent = orthonormalise(length, expected);
        on_every_set([&](instruction_set set) {
            floats found = given;
            std::vector<double> wide(found.size());
            CHECK(
                sotto::detail::kernels::run_unfused<sotto::detail::kernels::orthonormalise_vectors>(
                    set, found.data(), wide.data(), length, std::size_t{3}) == dependent);
            CHECK(same_values(found, expected));
        });
    }
}

TEST_CASE("what is not finite does not come out as a number") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float odd : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
        floats vectors = normal_values(30, 5);
        vectors[3] = odd;
        orthonormalise(15, vectors);
        CHECK(std::ranges::any_of(vectors, [](float x) { return !std::isfinite(x); }));
    }
}

TEST_CASE("vectors that do not fit are refused, and none are nothing to do") {
    floats none;
    CHECK(orthonormalise(0, none) == 0);
    CHECK(orthonormalise(7, none) == 0);
    floats some(10);
    std::vector<double> few(9), enough(10);
    CHECK_THROWS_WITH_AS(sotto::detail::kernels::orthonormalise(5, some, few),
                         "orthonormalise: the size of wide is 9; expected at least 10, the size of "
                         "vectors",
                         sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::orthonormalise(3, some, enough), sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::orthonormalise(0, some, enough), sotto::invalid_option);
}
