#include "sotto/kernels/detail/quantise/ternary.hpp"

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
using sotto::detail::kernels::ternarisation;
using sotto::testing::at_every_length;
using sotto::testing::on_every_set;
using sotto::testing::same_values;
using sotto::testing::uneven_values;

namespace {

using bytes = std::vector<std::uint8_t>;
using floats = std::vector<float>;

constexpr float unclipped = std::numeric_limits<float>::infinity();

struct message {
    floats scales;
    bytes codes;
};

floats normal_values(std::size_t n, std::uint64_t seed) {
    return sotto::testing::normal_values(static_cast<std::int64_t>(n), seed);
}

message sent(const sotto::detail::kernels::ternarisation& how, std::span<const float> x) {
    message out{floats(sotto::detail::kernels::blocks_of(x.size(), how.block)),
                bytes(sotto::detail::kernels::bytes_of_codes(x.size(), 2))};
    sotto::detail::kernels::ternarise(how, x, out.scales, out.codes);
    return out;
}

// The clip of a block, of which the rounding is another than the kernel's.
double limit_of(std::span<const float> x, double clip) {
    double squares = 0.0;
    for (const float value : x) squares += double{value} * double{value};
    return clip * std::sqrt(squares / static_cast<double>(x.size()));
}

// The codes of values whose scale is known, one after the other.
bytes plain_codes(const sotto::detail::kernels::ternarisation& how, std::span<const float> x,
                  float scale) {
    bytes codes(sotto::detail::kernels::bytes_of_codes(x.size(), 2));
    const float factor = sotto::detail::kernels::code_factor(scale, 1.0f, 0x1p30f);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::uint64_t index = how.first + i, counter = index / 32 * 16 + index % 16;
        auto random = static_cast<std::uint32_t>(counter);
        sotto::detail::kernels::to_random_words(
            sotto::detail::kernels::key_of_counters(how.seed, counter), random);
        if (index / 16 % 2 != 0) random = std::rotl(random, 16);
        const float y = std::clamp(x[i], -scale, scale) * factor;
        const std::int64_t code = (static_cast<std::int64_t>(y) + (random & 0x3fffffff)) >> 30;
        codes[i / 4] |= static_cast<std::uint8_t>((code & 3) << i % 4 * 2);
    }
    return codes;
}

}  // namespace

TEST_CASE("ternarise gives the bits of a plain loop on every set, at every length") {
    const auto check = [](std::span<const float> x, float clip) {
        const sotto::detail::kernels::ternarisation how{
            .block = 256, .clip = clip, .seed = 7, .first = 1024};
        const message expected = sent(how, x);
        for (std::size_t start = 0; start < x.size(); start += 256) {
            const auto part = x.subspan(start, std::min<std::size_t>(256, x.size() - start));
            const float scale = expected.scales[start / 256];
            sotto::detail::kernels::ternarisation here = how;
            here.first += start;
            const bytes codes = plain_codes(here, part, scale);
            CHECK(std::equal(codes.begin(), codes.end(),
                             expected.codes.begin() + static_cast<std::ptrdiff_t>(start / 4)));
            float largest = 0.0f;
            for (const float value : part) largest = std::max(largest, std::abs(value));
            const double limit = std::min(limit_of(part, double{clip}), double{largest});
            if (clip == unclipped) CHECK(scale == (largest < 0x1p-96f ? 0.0f : largest));
            if (limit > 0x1p-95) CHECK(double{scale} == doctest::Approx(limit).epsilon(1e-5));
        }
        on_every_set([&](instruction_set set) {
            message found{floats(expected.scales.size()), bytes(expected.codes.size() + 16, 0xa5)};
            const sotto::detail::kernels::blocks_to_encode all{x.data(),
                                                               nullptr,
                                                               x.size(),
                                                               how.block,
                                                               how.seed,
                                                               how.first,
                                                               found.scales.data(),
                                                               found.codes.data()};
            if (clip == unclipped)
                sotto::detail::kernels::run_unfused<
                    sotto::detail::kernels::quantise_blocks<2, true, false>>(set, all);
            else
                sotto::detail::kernels::run_unfused<sotto::detail::kernels::ternarise_blocks>(
                    set, all, clip);
            CHECK(same_values(found.scales, expected.scales));
            CHECK(std::equal(expected.codes.begin(), expected.codes.end(), found.codes.begin()));
            CHECK(std::all_of(found.codes.end() - 16, found.codes.end(),
                              [](int b) { return b == 0xa5; }));
        });
    };
    for (const float clip : {unclipped, 2.5f, 1.0f}) {
        at_every_length([&](std::size_t n, std::size_t shift) {
            const floats x = normal_values(n + shift, n);
            check(std::span(x).subspan(shift), clip);
        });
        for (const std::size_t n : {255u, 256u, 257u, 700u, 1337u}) {
            check(normal_values(n, n), clip);
            check(uneven_values(n, n), clip);
        }
    }
}

TEST_CASE("a clipped block longer than a chunk of squares is the same on every set") {
    constexpr std::size_t block = 65536;
    const floats x = normal_values(70001, 3);
    const auto first = std::span(x).first(block), rest = std::span(x).subspan(block);
    floats scales[4];
    std::size_t sets = 0;
    on_every_set([&](instruction_set set) {
        floats& scale = scales[sets++];
        scale.resize(2);
        bytes codes(sotto::detail::kernels::bytes_of_codes(x.size(), 2));
        const sotto::detail::kernels::blocks_to_encode all{
            x.data(), nullptr, x.size(), block, 0, 0, scale.data(), codes.data()};
        sotto::detail::kernels::run_unfused<sotto::detail::kernels::ternarise_blocks>(set, all,
                                                                                      2.5f);
        CHECK(same_values(scale, scales[0]));
        bytes expected = plain_codes({}, first, scale[0]);
        const bytes last = plain_codes({.first = block}, rest, scale[1]);
        expected.insert(expected.end(), last.begin(), last.end());
        CHECK(codes == expected);
    });
    CHECK(double{scales[0][0]} == doctest::Approx(limit_of(first, 2.5)).epsilon(1e-5));
}

TEST_CASE("a clip scales with its values, also where their squares are summed once more") {
    // Squares are summed again below 2^-31 and from 2^32 on: the largest value is in [2, 4).
    const floats x = normal_values(700, 17);
    const sotto::detail::kernels::ternarisation how{.block = 1024, .seed = 4};
    const message expected = sent(how, x);
    float largest = 0.0f;
    for (const float value : x) largest = std::max(largest, std::abs(value));
    REQUIRE((largest >= 2.0f && largest < 4.0f));
    REQUIRE(expected.scales[0] < largest);
    for (const int e : {-33, -32, -31, -30, 30, 31, 32, 33}) {
        floats scaled = x;
        for (float& value : scaled) value = std::ldexp(value, e);
        on_every_set([&](instruction_set set) {
            message found{floats(1), bytes(expected.codes.size())};
            const sotto::detail::kernels::blocks_to_encode all{
                scaled.data(), nullptr,   scaled.size(),       how.block,
                how.seed,      how.first, found.scales.data(), found.codes.data()};
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::ternarise_blocks>(set, all,
                                                                                          how.clip);
            CHECK(found.scales[0] == std::ldexp(expected.scales[0], e));
            CHECK(found.codes == expected.codes);
        });
    }
}

TEST_CASE("blocks in a row become what each becomes alone, whatever is before it") {
    constexpr std::size_t block = 16384;
    floats x = normal_values(6 * block + 77, 11);
    x[block + 5] = std::numeric_limits<float>::infinity();
    for (std::size_t i = 3 * block; i < 4 * block; ++i) x[i] *= 0x1p70f;
    for (std::size_t i = 4 * block; i < 5 * block; ++i) x[i] *= 0x1p-70f;
    sotto::detail::kernels::ternarisation how{.block = block, .seed = 3};
    message apart;
    for (; how.first < x.size(); how.first += block) {
        const std::size_t count = std::min<std::size_t>(block, x.size() - how.first);
        const message one = sent(how, std::span(x).subspan(how.first, count));
        apart.scales.insert(apart.scales.end(), one.scales.begin(), one.scales.end());
        apart.codes.insert(apart.codes.end(), one.codes.begin(), one.codes.end());
    }
    on_every_set([&](instruction_set set) {
        message found{floats(apart.scales.size()), bytes(apart.codes.size())};
        const sotto::detail::kernels::blocks_to_encode all{
            x.data(), nullptr, x.size(), block, 3, 0, found.scales.data(), found.codes.data()};
        sotto::detail::kernels::run_unfused<sotto::detail::kernels::ternarise_blocks>(set, all,
                                                                                      how.clip);
        CHECK(same_values(found.scales, apart.scales));
        CHECK(found.codes == apart.codes);
    });
}

TEST_CASE("ternary values have the clipped value as their mean") {
    // scale * sign with probability |v| / scale: variance |v| (scale - |v|). Five standard
    // deviations of the mean of all draws.
    constexpr int draws = 4096;
    floats x = normal_values(256, 5);
    x[3] = 4.5f;
    x[4] = 1e-3f;
    for (const float clip : {unclipped, 2.5f}) {
        std::vector<double> sums(x.size());
        floats y(x.size());
        double scale = 0.0;
        bool only_three = true;
        for (std::uint64_t seed = 0; seed < draws; ++seed) {
            const message m = sent({.block = 256, .clip = clip, .seed = seed}, x);
            sotto::detail::kernels::dequantise<2>(256, m.scales, m.codes, y);
            scale = double{m.scales[0]};
            for (std::size_t i = 0; i < x.size(); ++i) {
                only_three &= y[i] == 0.0f || y[i] == std::copysign(m.scales[0], x[i]);
                sums[i] += double{y[i]};
            }
        }
        CHECK(only_three);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double value = std::clamp(double{x[i]}, -scale, scale);
            const double variance = std::abs(value) * (scale - std::abs(value));
            CHECK(std::abs(sums[i] / draws - value) <=
                  5.0 * std::sqrt(variance / draws) + 1e-6 * scale);
        }
    }
}

TEST_CASE("ternary bytes") {
    const floats x{1.0f, -1.0f, 0.26f, -0.74f, 0.0f, 0.5f, -0.1f, -0.5f, 0.5f};
    const message whole = sent({.block = 256, .clip = unclipped, .seed = 1}, x);
    CHECK(whole.scales == floats{1.0f});
    CHECK(whole.codes == bytes{205, 4, 0});
    const message clipped = sent({.block = 256, .clip = 1.0f, .seed = 1},
                                 floats{2.0f, -1.0f, 1.0f, 0.0f, 0.5f, 1.5f, -1.5f, 0.5f});
    CHECK(clipped.scales == floats{std::sqrt(1.375f)});
    CHECK(clipped.codes == bytes{29, 116});
}

TEST_CASE("a block of equal values is not clipped") {
    const floats x(512, 0.25f);
    const message m = sent({.block = 256}, x);
    CHECK(m.scales == floats{0.25f, 0.25f});
    floats y(x.size());
    sotto::detail::kernels::dequantise<2>(256, m.scales, m.codes, y);
    CHECK(y == x);
}

TEST_CASE("ternary values of every size are finite, and a block that is not decodes to NaN") {
    for (const float size : {std::numeric_limits<float>::max(), 0x1p-90f, 1e-45f, 0.0f})
        for (const float clip : {unclipped, 2.5f, 0.5f}) {
            floats x(256, size), y(256, 9.0f);
            x[0] = -size;
            const message m = sent({.block = 256, .clip = clip}, x);
            sotto::detail::kernels::dequantise<2>(256, m.scales, m.codes, y);
            for (const float value : y)
                CHECK_UNARY(value == 0.0f || std::abs(value) == m.scales[0]);
            CHECK(m.scales[0] <= size);
        }
    for (const float bad : {INFINITY, -INFINITY, std::nanf("")})
        for (const float clip : {unclipped, 2.5f}) {
            floats x = normal_values(512, 1), y(512);
            x[300] = bad;
            const message m = sent({.block = 256, .clip = clip}, x);
            sotto::detail::kernels::dequantise<2>(256, m.scales, m.codes, y);
            for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i >= 256));
        }
}

TEST_CASE("ternarise refuses arrays that do not fit and options that can't be") {
    floats x(300), scales(2);
    bytes codes(75);
    const auto refused = [&](const sotto::detail::kernels::ternarisation& how, std::size_t s,
                             std::size_t c) {
        CHECK_THROWS_AS(sotto::detail::kernels::ternarise(how, x, std::span(scales).first(s),
                                                          std::span(codes).first(c)),
                        sotto::invalid_option);
    };
    CHECK_NOTHROW(sotto::detail::kernels::ternarise({.block = 256}, x, scales, codes));
    refused({.block = 256}, 1, 75);
    refused({.block = 256}, 2, 74);
    refused({.block = 255}, 2, 75);
    refused({.block = 256, .first = 1}, 2, 75);
    refused({.block = 256, .clip = 0.0f}, 2, 75);
    refused({.block = 256, .clip = std::nanf("")}, 2, 75);
    CHECK_THROWS_WITH(
        sotto::detail::kernels::ternarise({.block = 256, .clip = -0.5f}, x, scales, codes),
        "ternarise: clip is -0.5; expected above 0");
    CHECK_THROWS_WITH(
        sotto::detail::kernels::ternarise({.block = 256}, x, scales, std::span(codes).first(74)),
        "ternarise: the size of codes is 74; expected 75, the bytes of 300 codes of 2 bits");
}
