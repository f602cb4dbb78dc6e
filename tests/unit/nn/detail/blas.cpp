#include "sotto/nn/detail/blas.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "unit/nn/layer_check.hpp"

using namespace sotto::nn;
using namespace sotto::detail::nn;
using nn_test::count;

TEST_CASE("multiply is the matrix product, for every transposition and small size") {
    for (std::int64_t m = 0; m <= 5; ++m)
        for (std::int64_t n = 0; n <= 5; ++n)
            for (std::int64_t k = 0; k <= 5; ++k)
                for (const float keep : {0.0f, 1.0f}) {
                    const auto a = nn_test::uniform(m * k, 1), b = nn_test::uniform(k * n, 2);
                    std::vector<float> at(a.size()), bt(b.size());
                    for (std::int64_t i = 0; i < m; ++i)
                        for (std::int64_t p = 0; p < k; ++p)
                            at[count(p * m + i)] = a[count(i * k + p)];
                    for (std::int64_t p = 0; p < k; ++p)
                        for (std::int64_t j = 0; j < n; ++j)
                            bt[count(j * k + p)] = b[count(p * n + j)];
                    const auto before = nn_test::uniform(m * n, 3);
                    std::vector<double> expected;
                    for (std::int64_t i = 0; i < m; ++i)
                        for (std::int64_t j = 0; j < n; ++j) {
                            double sum = double{keep} * before[count(i * n + j)];
                            for (std::int64_t p = 0; p < k; ++p)
                                sum += double{a[count(i * k + p)]} * b[count(p * n + j)];
                            expected.push_back(sum);
                        }
                    const matrix<const float> left{a, m, k}, left_t{at, k, m}, right{b, k, n},
                        right_t{bt, n, k};
                    for (const auto& x : {left, left_t.transpose()})
                        for (const auto& y : {right, right_t.transpose()}) {
                            auto c = before;
                            multiply(x, y, {c, m, n}, keep);
                            nn_test::check_near(c, expected, 1e-6);
                        }
                }
}

TEST_CASE("multiply overwrites what is not a number unless it is told to keep") {
    const std::vector<float> none;
    std::vector<float> c{std::nanf(""), std::nanf("")};
    multiply({none, 1, 0}, {none, 0, 2}, {c, 1, 2});
    CHECK(c == std::vector<float>{0.0f, 0.0f});
}

TEST_CASE("multiply refuses a side that BLAS cannot count") {
    const std::vector<float> none;
    std::vector<float> c;
    CHECK_THROWS_AS(
        multiply({none, std::int64_t{1} << 31, 1}, {none, 1, 1}, {c, std::int64_t{1} << 31, 1}),
        sotto::invalid_option);
}

TEST_CASE("the number of BLAS threads is set once, and says whether it was") {
    CHECK(use_one_blas_thread() == use_one_blas_thread());
}
