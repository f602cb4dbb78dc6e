#include "sotto/kernels/detail/nn/sigmoid_tanh.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::instruction_set;

namespace {

// Every exponent from the smallest normal float to 87, both signs.
std::vector<float> many_values() {
    std::vector<float> values;
    for (std::uint32_t bits = 0x00800000; bits < std::bit_cast<std::uint32_t>(87.0f);
         bits += 12345) {
        values.push_back(std::bit_cast<float>(bits));
        values.push_back(-values.back());
    }
    return values;
}

double largest_error(std::span<const float> x, std::span<const float> y, auto&& exact) {
    double largest = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i)
        largest = std::max(largest, std::abs(y[i] / exact(double{x[i]}) - 1.0));
    return largest;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
    bool same = a.size() == b.size();
    for (std::size_t i = 0; same && i < a.size(); ++i)
        same = std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]);
    return same;
}

}  // namespace

TEST_CASE("sigmoid and tanh are right to the last bits over their whole range") {
    const auto x = many_values();
    std::vector<float> y(x.size());
    sotto::detail::kernels::sigmoid(x, y);
    CHECK(largest_error(x, y, [](double z) { return 1.0 / (1.0 + std::exp(-z)); }) < 2e-7);
    sotto::detail::kernels::tanh(x, y);
    CHECK(largest_error(x, y, [](double z) { return std::tanh(z); }) < 2e-7);
}

TEST_CASE("sigmoid and tanh at zero, at the ends and for NaN") {
    const float infinite = std::numeric_limits<float>::infinity();
    const std::vector<float> x{0.0f, -0.0f, infinite, -infinite, 1e30f, -1e30f, std::nanf("")};
    std::vector<float> y(x.size());
    sotto::detail::kernels::sigmoid(x, y);
    for (const std::size_t zero : {0u, 1u}) CHECK(y[zero] == 0.5f);
    for (const std::size_t high : {2u, 4u}) CHECK(y[high] == 1.0f);
    for (const std::size_t low : {3u, 5u}) {
        CHECK(y[low] > 0.0f);
        CHECK(y[low] < 2e-38f);
    }
    CHECK(std::isnan(y[6]));
    sotto::detail::kernels::tanh(x, y);
    for (const std::size_t zero : {0u, 1u}) CHECK(y[zero] == 0.0f);
    for (const std::size_t high : {2u, 4u}) CHECK(y[high] == 1.0f);
    for (const std::size_t low : {3u, 5u}) CHECK(y[low] == -1.0f);
    CHECK(std::isnan(y[6]));
}

TEST_CASE("sigmoid and tanh give the same bits on every instruction set") {
    const auto x = many_values();
    const auto agree = [&]<class Kernel>() {
        std::vector<float> expected(x.size()), found(x.size());
        sotto::detail::kernels::run_unfused<Kernel>(instruction_set::baseline, x.data(),
                                                    expected.data(), x.size());
        for (const auto set : {instruction_set::avx2, instruction_set::avx512}) {
            if (set > kernels::best_instruction_set()) continue;
            sotto::detail::kernels::run_unfused<Kernel>(set, x.data(), found.data(), x.size());
            CHECK(same_bits(found, expected));
        }
    };
    agree.operator()<sotto::detail::kernels::sigmoid_kernel>();
    agree.operator()<sotto::detail::kernels::tanh_kernel>();
}

TEST_CASE("sigmoid and tanh of every length write what they should and nothing else") {
    sotto::random_stream random{5};
    std::vector<float> x(70);
    for (float& value : x) value = 4.0f * random.normal();
    std::vector<float> whole_sigmoid(x.size()), whole_tanh(x.size());
    sotto::detail::kernels::sigmoid(x, whole_sigmoid);
    sotto::detail::kernels::tanh(x, whole_tanh);
    for (std::size_t shift : {0u, 1u, 3u})
        for (std::size_t n = 0; n + shift < x.size(); ++n) {
            std::vector<float> y(x.size(), 7.0f);
            const auto from = std::span<const float>(x).subspan(shift, n);
            const auto to = std::span(y).subspan(shift, n);
            sotto::detail::kernels::sigmoid(from, to);
            CHECK(same_bits(to, std::span(whole_sigmoid).subspan(shift, n)));
            std::copy(from.begin(), from.end(), to.begin());
            sotto::detail::kernels::tanh(to, to);
            CHECK(same_bits(to, std::span(whole_tanh).subspan(shift, n)));
            for (std::size_t i = 0; i < y.size(); ++i)
                if (i < shift || i >= shift + n) CHECK(y[i] == 7.0f);
        }
}
