#include "sotto/kernels/detail/nn/low_rank.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "support/generators.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::instruction_set;
using sotto::detail::kernels::low_rank_shape;
using sotto::testing::integer_values;
using sotto::testing::on_every_set;
using sotto::testing::same_values;
using sotto::testing::uneven_values;

namespace {

using floats = std::vector<float>;

// Place c in sum c % 32, and these by halves.
float plain_dot(const float* a, const float* b, std::size_t n) {
    float sums[32] = {};
    for (std::size_t c = 0; c < n; ++c) sums[c % 32] += a[c] * b[c];
    for (std::size_t width = 16; width > 0; width /= 2)
        for (std::size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
    return sums[0];
}

floats plain_left(const sotto::detail::kernels::low_rank_shape& s, const floats& matrix,
                  const floats& right) {
    floats left(s.left_size());
    for (std::size_t i = 0; i < s.rows; ++i)
        for (std::size_t j = 0; j < s.rank; ++j)
            left[j * s.rows + i] =
                plain_dot(matrix.data() + i * s.columns, right.data() + j * s.columns, s.columns);
    return left;
}

// Rows by fours, of which the products are added in pairs.
floats plain_right(const sotto::detail::kernels::low_rank_shape& s, const floats& matrix,
                   const floats& left) {
    floats right(s.right_size());
    for (std::size_t j = 0; j < s.rank; ++j)
        for (std::size_t c = 0; c < s.columns; ++c) {
            const auto product = [&](std::size_t i) {
                return matrix[i * s.columns + c] * left[j * s.rows + i];
            };
            float sum = 0.0f;
            std::size_t i = 0;
            for (; i + 4 <= s.rows; i += 4)
                sum += (product(i) + product(i + 1)) + (product(i + 2) + product(i + 3));
            for (; i < s.rows; ++i) sum += product(i);
            right[j * s.columns + c] = sum;
        }
    return right;
}

float plain_product(const sotto::detail::kernels::low_rank_shape& s, const floats& left,
                    const floats& right, std::size_t i, std::size_t c) {
    float sum = 0.0f;
    for (std::size_t j = 0; j < s.rank; ++j) sum += right[j * s.columns + c] * left[j * s.rows + i];
    return sum;
}

std::vector<sotto::detail::kernels::low_rank_shape> shapes() {
    std::vector<sotto::detail::kernels::low_rank_shape> all{
        {0, 5, 2}, {5, 0, 2}, {3, 4, 0}, {1, 1, 1}, {40, 200, 4}};
    for (std::size_t columns = 1; columns <= 67; ++columns)
        all.push_back({1 + columns % 9, columns, 1 + columns % 3});
    return all;
}

}  // namespace

TEST_CASE("products with factors give the bits of plain loops on every set, for every shape") {
    for (const sotto::detail::kernels::low_rank_shape& s : shapes()) {
        const floats matrix = uneven_values(s.size(), 1 + s.columns);
        const floats left = uneven_values(s.left_size(), 2),
                     right = uneven_values(s.right_size(), 3);
        const floats added = uneven_values(s.size(), 4);
        const floats expected_left = plain_left(s, matrix, right);
        const floats expected_right = plain_right(s, matrix, left);
        floats product(s.size()), sum = added;
        for (std::size_t i = 0; i < s.rows; ++i)
            for (std::size_t c = 0; c < s.columns; ++c) {
                const float value = plain_product(s, left, right, i, c);
                product[i * s.columns + c] = value;
                sum[i * s.columns + c] += value * -0.75f;
            }
        on_every_set([&](instruction_set set) {
            // With a guard on either side.
            floats to(s.left_size() + 2, 7.0f);
            const auto check = [&](const floats& expected) {
                CHECK(to.front() == 7.0f);
                CHECK(to.back() == 7.0f);
                CHECK(same_values(std::span(to).subspan(1, expected.size()), expected));
            };
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::left_factor>(
                set, s, matrix.data(), right.data(), to.data() + 1);
            check(expected_left);
            to.assign(s.right_size() + 2, 7.0f);
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::right_factor>(
                set, s, matrix.data(), left.data(), to.data() + 1);
            check(expected_right);
            to.assign(s.size() + 2, 7.0f);
            sotto::detail::kernels::run_unfused<
                sotto::detail::kernels::product_of_factors_kernel<false>>(
                set, s, 1.0f, left.data(), right.data(), to.data() + 1);
            check(product);
            std::copy(added.begin(), added.end(), to.begin() + 1);
            sotto::detail::kernels::run_unfused<
                sotto::detail::kernels::product_of_factors_kernel<true>>(
                set, s, -0.75f, left.data(), right.data(), to.data() + 1);
            check(sum);
        });
    }
}

TEST_CASE("of small integers the products are exact") {
    const sotto::detail::kernels::low_rank_shape s{37, 53, 3};
    const floats matrix = integer_values(37 * 53, 1), left = integer_values(37 * 3, 2),
                 right = integer_values(53 * 3, 3);
    floats found_left(s.left_size()), found_right(s.right_size()), product(s.size());
    sotto::detail::kernels::left_factor_of(s, matrix, right, found_left);
    sotto::detail::kernels::right_factor_of(s, matrix, left, found_right);
    sotto::detail::kernels::product_of_factors(s, left, right, product);
    floats sum = matrix;
    sotto::detail::kernels::add_product_of_factors(s, -2.0f, left, right, sum);
    for (std::size_t j = 0; j < s.rank; ++j) {
        for (std::size_t i = 0; i < s.rows; ++i) {
            int expected = 0;
            for (std::size_t c = 0; c < s.columns; ++c)
                expected += static_cast<int>(matrix[i * 53 + c] * right[j * 53 + c]);
            CHECK(found_left[j * 37 + i] == static_cast<float>(expected));
        }
        for (std::size_t c = 0; c < s.columns; ++c) {
            int expected = 0;
            for (std::size_t i = 0; i < s.rows; ++i)
                expected += static_cast<int>(matrix[i * 53 + c] * left[j * 37 + i]);
            CHECK(found_right[j * 53 + c] == static_cast<float>(expected));
        }
    }
    for (std::size_t i = 0; i < s.rows; ++i)
        for (std::size_t c = 0; c < s.columns; ++c) {
            int expected = 0;
            for (std::size_t j = 0; j < s.rank; ++j)
                expected += static_cast<int>(left[j * 37 + i] * right[j * 53 + c]);
            CHECK(product[i * 53 + c] == static_cast<float>(expected));
            CHECK(sum[i * 53 + c] == matrix[i * 53 + c] - 2.0f * static_cast<float>(expected));
        }
}

TEST_CASE("spans of other sizes than the shape's are refused by name") {
    const sotto::detail::kernels::low_rank_shape s{3, 4, 2};
    floats matrix(12), left(6), right(8), short_left(5), long_right(9);
    CHECK_THROWS_WITH_AS(
        sotto::detail::kernels::left_factor_of(s, matrix, right, short_left),
        "left_factor_of: the size of left is 5; expected 6, the size of the shape's left factor",
        sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::right_factor_of(s, matrix, left, long_right),
                    sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::product_of_factors(s, left, long_right, matrix),
                    sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::add_product_of_factors(s, 1.0f, left, right, left),
                    sotto::invalid_option);
}
