#include "sotto/kernels/detail/quantise/half.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "support/lanes.hpp"

using namespace sotto::kernels;
using namespace sotto::detail::kernels;

namespace {

std::uint32_t bits_of(float value) {
    return std::bit_cast<std::uint32_t>(value);
}
float float_of(std::uint32_t bits) {
    return std::bit_cast<float>(bits);
}

// What a binary16 stands for, by the definition of the format and none of the code under test.
double fp16_by_definition(unsigned half) {
    const int exponent = static_cast<int>(half >> 10 & 31),
              fraction = static_cast<int>(half & 1023);
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000u ? -magnitude : magnitude;
}

bool is_nan(unsigned half) {
    return (half & 0x7C00u) == 0x7C00u && (half & 0x3FFu) != 0;
}

}  // namespace

TEST_CASE("every binary16 widens to the number it stands for and comes back as it was") {
    for (unsigned half = 0; half < 0x10000; ++half) {
        const float value = from_fp16(static_cast<std::uint16_t>(half));
        if (is_nan(half)) {
            REQUIRE(std::isnan(value));
            REQUIRE(to_fp16(value) == (half | 0x200u));
            continue;
        }
        if ((half & 0x7FFFu) == 0x7C00u)
            REQUIRE(std::isinf(value));
        else
            REQUIRE(static_cast<double>(value) == fp16_by_definition(half));
        REQUIRE(std::signbit(value) == ((half & 0x8000u) != 0));
        REQUIRE(to_fp16(value) == half);
    }
}

TEST_CASE("between any two neighbouring binary16 numbers the middle goes to the even one") {
    for (unsigned half = 0; half < 0x7BFF; ++half) {
        const double low = fp16_by_definition(half), high = fp16_by_definition(half + 1);
        const auto middle = static_cast<float>((low + high) / 2);  // exact: 12 bits
        const auto even = static_cast<std::uint16_t>(half % 2 == 0 ? half : half + 1);
        REQUIRE(to_fp16(middle) == even);
        REQUIRE(to_fp16(-middle) == (even | 0x8000u));
        REQUIRE(to_fp16(std::nextafter(middle, 0.0f)) == half);
        REQUIRE(to_fp16(std::nextafter(middle, 1e9f)) == half + 1);
    }
}

TEST_CASE("binary16 overflows to infinity from 65520 on and keeps NaN and the sign of zero") {
    CHECK(to_fp16(65504.0f) == 0x7BFF);
    CHECK(to_fp16(std::nextafter(65520.0f, 0.0f)) == 0x7BFF);
    CHECK(to_fp16(65520.0f) == 0x7C00);
    CHECK(to_fp16(-1e30f) == 0xFC00);
    CHECK(to_fp16(std::numeric_limits<float>::infinity()) == 0x7C00);
    CHECK(to_fp16(-0.0f) == 0x8000);
    CHECK(to_fp16(0x1p-25f) == 0);  // a tie with 0, which is even
    CHECK(to_fp16(std::nextafter(0x1p-25f, 1.0f)) == 1);
    CHECK(to_fp16(std::numeric_limits<float>::denorm_min()) == 0);
    CHECK(to_fp16(float_of(0x7F800001)) == 0x7E00);  // a payload that does not fit is still a NaN
    CHECK(to_fp16(float_of(0xFFC04000)) == 0xFE02);
}

TEST_CASE("every bfloat16 widens to the float with the same upper half and comes back as it was") {
    for (unsigned half = 0; half < 0x10000; ++half) {
        const float value = from_bf16(static_cast<std::uint16_t>(half));
        REQUIRE(bits_of(value) == half << 16);
        REQUIRE(to_bf16(value) == (std::isnan(value) ? half | 0x40u : half));
    }
}

TEST_CASE("between any two neighbouring bfloat16 numbers the middle goes to the even one") {
    for (unsigned half = 0; half < 0x7F80; ++half) {
        const auto even = half % 2 == 0 ? half : half + 1;
        REQUIRE(to_bf16(float_of(half << 16 | 0x8000u)) == even);
        REQUIRE(to_bf16(float_of(half << 16 | 0x80008000u)) == (even | 0x8000u));
        REQUIRE(to_bf16(float_of(half << 16 | 0x7FFFu)) == half);
        REQUIRE(to_bf16(float_of(half << 16 | 0x8001u)) == half + 1);
    }
    CHECK(to_bf16(std::numeric_limits<float>::max()) == 0x7F80);
    CHECK(to_bf16(float_of(0x7F800001)) == 0x7FC0);
}

TEST_CASE("spans are converted as single values are, at every length and place") {
    // Random bits reach every exponent, infinities and NaNs; bits near 1 reach the subnormals of
    // binary16.
    sotto::random_stream random(3);
    std::vector<float> values(4096);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = i % 2 == 0 ? float_of(random())
                               : std::ldexp(random.normal(), -static_cast<int>(random.below(30)));
    std::vector<std::uint16_t> halves(values.size());
    for (std::size_t length = 0; length < 70; ++length)
        for (const std::size_t start :
             {std::size_t{0}, std::size_t{1}, std::size_t{3}, 64 * length}) {
            const std::span<const float> from(&values[start % 4000],
                                              std::min(length, std::size_t{64}));
            const std::span<std::uint16_t> to(&halves[start % 4000], from.size());
            const auto after = halves[start % 4000 + from.size()];
            round_to_fp16(from, to);
            for (std::size_t i = 0; i < from.size(); ++i) REQUIRE(to[i] == to_fp16(from[i]));
            round_to_bf16(from, to);
            for (std::size_t i = 0; i < from.size(); ++i) REQUIRE(to[i] == to_bf16(from[i]));
            CHECK(halves[start % 4000 + from.size()] == after);
        }
    std::vector<std::uint16_t> all(0x10000);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    std::vector<float> wide(all.size());
    widen_from_fp16(all, wide);
    for (std::size_t i = 0; i < all.size(); ++i)
        REQUIRE(bits_of(wide[i]) == bits_of(from_fp16(all[i])));
    widen_from_bf16(all, wide);
    for (std::size_t i = 0; i < all.size(); ++i)
        REQUIRE(bits_of(wide[i]) == bits_of(from_bf16(all[i])));
}

TEST_CASE("every set converts as single values are converted, at every length and place") {
    namespace inner = sotto::detail::kernels;
    sotto::random_stream random(4);
    std::vector<float> values(4096);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = i % 2 == 0 ? float_of(random())
                               : std::ldexp(random.normal(), -static_cast<int>(random.below(30)));
    std::vector<std::uint16_t> all(0x10000);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);

    const auto check = [&]<class Format>(instruction_set set, auto&& to_half, auto&& from_half) {
        const auto same = [&](std::size_t start, std::size_t n) {
            std::vector<std::uint16_t> halves(n + 3, 7);
            run_unfused<inner::each_lane>(
                set, inner::round_lanes<Format>{values.data() + start, halves.data() + start % 3},
                n);
            bool equal = true;
            for (std::size_t i = 0; i < halves.size(); ++i) {
                const bool inside = i >= start % 3 && i < start % 3 + n;
                equal &= halves[i] == (inside ? to_half(values[start + i - start % 3]) : 7);
            }
            return equal;
        };
        for (std::size_t n = 0; n < 70; ++n)
            for (const std::size_t start : {std::size_t{0}, std::size_t{1}, 53 * n})
                REQUIRE(same(start, n));
        REQUIRE(same(1, values.size() - 1));
        std::vector<float> wide(all.size());
        run_unfused<inner::each_lane>(set, inner::widen_lanes<Format>{all.data(), wide.data()},
                                      all.size());
        for (std::size_t i = 0; i < all.size(); ++i)
            REQUIRE(bits_of(wide[i]) == bits_of(from_half(all[i])));
        std::vector<float> few(70, 7.0f);
        for (std::size_t n = 0; n < 67; ++n) {
            run_unfused<inner::each_lane>(
                set, inner::widen_lanes<Format>{all.data() + 31 * n, few.data() + 1}, n);
            for (std::size_t i = 0; i < n; ++i)
                REQUIRE(bits_of(few[i + 1]) == bits_of(from_half(all[31 * n + i])));
            REQUIRE(few[n + 1] == 7.0f);
        }
    };
    sotto::testing::on_every_set([&](instruction_set set) {
        check.operator()<inner::fp16_lanes>(set, to_fp16, from_fp16);
        check.operator()<inner::bf16_lanes>(set, to_bf16, from_bf16);
    });
}

TEST_CASE("conversions refuse spans of different sizes") {
    std::vector<float> floats(5);
    for (const std::size_t wrong : {4u, 6u}) {
        std::vector<std::uint16_t> halves(wrong);
        CHECK_THROWS_AS(round_to_fp16(floats, halves), sotto::invalid_option);
        CHECK_THROWS_AS(round_to_bf16(floats, halves), sotto::invalid_option);
        CHECK_THROWS_AS(widen_from_fp16(halves, floats), sotto::invalid_option);
        CHECK_THROWS_AS(widen_from_bf16(halves, floats), sotto::invalid_option);
    }
    std::vector<std::uint16_t> few(4);
    CHECK_THROWS_WITH(round_to_fp16(floats, few),
                      "round_to_fp16: the size of to is 4; expected 5, the size of from");
}
