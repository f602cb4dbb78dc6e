#include "sotto/kernels/detail/nn/elementwise.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "support/generators.hpp"

namespace kernels = sotto::kernels;

namespace {
std::vector<float> uniform(std::size_t n, std::uint64_t seed) {
    return sotto::testing::uniform_values(static_cast<std::int64_t>(n), seed);
}
}  // namespace

TEST_CASE("sums and masks equal the plain loops, bit for bit, at every length and misalignment") {
    for (std::size_t n = 0; n <= 70; ++n)
        for (const std::size_t shift : {0u, 1u, 3u}) {
            const auto a = uniform(n + shift, 1), b = uniform(n + shift, 2);
            const auto part = [&](auto& values) { return std::span(values).subspan(shift, n); };
            std::vector<float> plain(n + shift + 1, 42.0f), less(plain), times(plain), cut(plain),
                where(plain);
            std::vector<float> same_plain(plain), same_less(plain), same_times(plain),
                same_cut(plain), same_where(plain);
            sotto::detail::kernels::sum(part(a), part(b), part(plain));
            sotto::detail::kernels::difference(part(a), part(b), part(less));
            sotto::detail::kernels::product(part(a), part(b), part(times));
            sotto::detail::kernels::rectified_sum(part(a), part(b), part(cut));
            sotto::detail::kernels::where_positive(part(a), part(b), part(where));
            for (std::size_t i = shift; i < n + shift; ++i) {
                same_plain[i] = a[i] + b[i];
                same_less[i] = a[i] - b[i];
                same_times[i] = a[i] * b[i];
                same_cut[i] = a[i] + b[i] < 0.0f ? 0.0f : a[i] + b[i];
                same_where[i] = a[i] > 0.0f ? b[i] : 0.0f;
            }
            CHECK(plain == same_plain);
            CHECK(less == same_less);
            CHECK(times == same_times);
            CHECK(cut == same_cut);
            CHECK(where == same_where);
        }
}

TEST_CASE("a rectified sum keeps a NaN, and a closed rectifier lets none through") {
    const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> nans(40, nan), ones(40, 1.0f), zeros(40, 0.0f);
    const std::vector<float> infinite(40, -infinity);
    std::vector<float> to(40);
    sotto::detail::kernels::rectified_sum(nans, ones, to);
    for (const float x : to) CHECK(std::isnan(x));
    sotto::detail::kernels::rectified_sum(infinite, ones, to);
    CHECK(to == zeros);
    sotto::detail::kernels::where_positive(zeros, nans, to);
    CHECK(to == zeros);
}

TEST_CASE("rows are copied to where they belong, and nothing else is touched") {
    for (std::int64_t width = 1; width <= 41; ++width)
        for (const std::int64_t gap : {0, 1, 5}) {
            CAPTURE(width);
            CAPTURE(gap);
            const std::int64_t rows = 3, next = width + gap;
            const auto from = uniform(static_cast<std::size_t>(rows * width), 3);
            std::vector<float> to(static_cast<std::size_t>(rows * next), 42.0f), expected(to);
            for (std::int64_t row = 0; row < rows; ++row)
                for (std::int64_t i = 0; i < width; ++i)
                    expected[static_cast<std::size_t>(row * next + i)] =
                        from[static_cast<std::size_t>(row * width + i)];
            sotto::detail::kernels::copy_rows(from.data(), to.data(), rows, width, next);
            CHECK(to == expected);
        }
}
