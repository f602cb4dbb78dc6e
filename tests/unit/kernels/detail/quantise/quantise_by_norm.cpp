#include "sotto/kernels/detail/quantise/quantise_by_norm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
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
using sotto::detail::kernels::norm_quantisation;
using sotto::testing::on_every_set;
using sotto::testing::same_values;
using sotto::testing::uneven_values;

namespace {

using bytes = std::vector<std::uint8_t>;
using floats = std::vector<float>;

struct message {
    floats scales;
    bytes codes;
};

floats normal_values(std::size_t n, std::uint64_t seed) {
    return sotto::testing::normal_values(static_cast<std::int64_t>(n), seed);
}

template <int Bits>
message sent(const sotto::detail::kernels::norm_quantisation& how, std::span<const float> x) {
    message out{floats(sotto::detail::kernels::blocks_of(x.size(), how.block)),
                bytes(sotto::detail::kernels::bytes_of_codes(x.size(), Bits))};
    sotto::detail::kernels::quantise_by_norm<Bits>(how, x, out.scales, out.codes);
    return out;
}

double norm_of(std::span<const float> x) {
    double squares = 0.0;
    for (const float value : x) squares += double{value} * double{value};
    return std::sqrt(squares);
}

float largest_of(std::span<const float> x) {
    float most = 0.0f;
    for (const float value : x) most = std::max(most, std::abs(value));
    return most;
}

// The codes of values whose scale is known, one after the other.
template <int Bits>
void check_codes(const sotto::detail::kernels::norm_quantisation& how, std::span<const float> x,
                 float scale, std::span<const std::uint8_t> codes) {
    constexpr int fraction = 32 - Bits, largest = (1 << (Bits - 1)) - 1;
    const float factor = sotto::detail::kernels::code_factor(scale, static_cast<float>(largest),
                                                             std::ldexp(1.0f, fraction));
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::uint64_t index = how.first + i, counter = index / 32 * 16 + index % 16;
        auto random = static_cast<std::uint32_t>(counter);
        sotto::detail::kernels::to_random_words(
            sotto::detail::kernels::key_of_counters(how.seed, counter), random);
        if (index / 16 % 2 != 0) random = std::rotl(random, 16);
        const std::int64_t point = static_cast<std::int64_t>(x[i] * factor);
        const std::int64_t code = (point + (random & ((1u << fraction) - 1))) >> fraction;
        const auto found = codes[i * Bits / 8] >> (i * Bits % 8) & ((1 << Bits) - 1);
        CHECK(found == (code & ((1 << Bits) - 1)));
    }
}

template <int Bits>
void check(std::span<const float> x, std::size_t block) {
    const sotto::detail::kernels::norm_quantisation how{
        .block = block, .seed = 7, .first = 4 * block};
    const message expected = sent<Bits>(how, x);
    for (std::size_t start = 0; start < x.size(); start += block) {
        const auto part = x.subspan(start, std::min(block, x.size() - start));
        const float scale = expected.scales[start / block];
        const double norm = std::min(norm_of(part), double{std::numeric_limits<float>::max()});
        if (norm > 0x1p-90) {
            CHECK(double{scale} == doctest::Approx(norm).epsilon(1e-5));
            CHECK(scale >= largest_of(part));
        }
        sotto::detail::kernels::norm_quantisation here = how;
        here.first += start;
        check_codes<Bits>(here, part, scale, std::span(expected.codes).subspan(start * Bits / 8));
    }
    on_every_set([&](instruction_set set) {
        message found{floats(expected.scales.size()), bytes(expected.codes.size() + 16, 0xa5)};
        const sotto::detail::kernels::blocks_to_encode all{
            x.data(),          nullptr, x.size(), block, how.seed, how.first, found.scales.data(),
            found.codes.data()};
        sotto::detail::kernels::run_unfused<sotto::detail::kernels::quantise_blocks_by_norm<Bits>>(
            set, all);
        CHECK(same_values(found.scales, expected.scales));
        CHECK(std::equal(expected.codes.begin(), expected.codes.end(), found.codes.begin()));
        CHECK(std::all_of(found.codes.end() - 16, found.codes.end(),
                          [](int b) { return b == 0xa5; }));
    });
}

}  // namespace

TEST_CASE("codes in steps of the norm are those of a plain loop on every set") {
    for (const std::size_t n : {1u, 31u, 255u, 256u, 257u, 700u, 1337u}) {
        const floats smooth = normal_values(n, n), uneven = uneven_values(n, n);
        check<2>(smooth, 256);
        check<4>(smooth, 256);
        check<8>(smooth, 512);
        check<2>(uneven, 512);
        check<4>(uneven, 256);
        check<8>(uneven, 256);
    }
    check<4>(normal_values(3 * 16384 + 77, 5), 16384);  // sums of several chunks
}

TEST_CASE("one value among zeros comes back exactly, at any magnitude") {
    for (const float value : {1.0f, -0.1f, 3e38f, -7e-28f}) {
        floats x(512);
        x[300] = value;
        const message out = sent<4>({.block = 512, .seed = 3}, x);
        CHECK(out.scales[0] == std::abs(value));
        floats back(512, 1.0f);
        sotto::detail::kernels::dequantise<4>(512, out.scales, out.codes, back);
        CHECK(back == x);
    }
}

TEST_CASE("a norm beyond the floats gives way to the largest of them") {
    constexpr float most = std::numeric_limits<float>::max();
    const floats x(256, -most);
    const message out = sent<8>({.block = 256, .seed = 3}, x);
    CHECK(out.scales[0] == most);
    floats back(256);
    sotto::detail::kernels::dequantise<8>(256, out.scales, out.codes, back);
    CHECK(back == x);
}

TEST_CASE("blocks of nothing, and blocks that are not finite, have codes 0") {
    floats x(512);
    CHECK(sent<2>({.block = 256}, x).scales == floats{0.0f, 0.0f});
    x[3] = std::numeric_limits<float>::infinity();
    x[300] = std::numeric_limits<float>::quiet_NaN();
    const message out = sent<2>({.block = 256}, x);
    CHECK(std::isinf(out.scales[0]));
    CHECK(std::isnan(out.scales[1]));
    CHECK(out.codes == bytes(128));
}

TEST_CASE("arguments that do not fit are refused by name") {
    const floats x(300);
    floats scales(2);
    bytes codes(150);
    CHECK_THROWS_WITH_AS(
        sotto::detail::kernels::quantise_by_norm<4>({.block = 300}, x, scales, codes),
        "quantise_by_norm: block is 300; expected a power of two from 256 to 2^20",
        sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::quantise_by_norm<8>({.block = 256}, x, scales, codes),
                    sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::quantise_by_norm<4>({.block = 512}, x, scales, codes),
                    sotto::invalid_option);
    CHECK_THROWS_AS(
        sotto::detail::kernels::quantise_by_norm<4>({.block = 256, .first = 100}, x, scales, codes),
        sotto::invalid_option);
}
