#include "sotto/kernels/detail/quantise/one_bit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
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
using sotto::detail::kernels::bytes_of_signs;
using sotto::detail::kernels::instruction_set;
using sotto::detail::kernels::sign_means;
using sotto::testing::any_values;
using sotto::testing::at_every_length;
using sotto::testing::on_every_set;
using sotto::testing::same_values;

namespace {

using bytes = std::vector<std::uint8_t>;
using floats = std::vector<float>;

constexpr std::size_t block = 256;

floats normal_values(std::size_t n, std::uint64_t seed) {
    return sotto::testing::normal_values(static_cast<std::int64_t>(n), seed);
}

bytes plain_signs(std::span<const float> x) {
    bytes signs(sotto::detail::kernels::bytes_of_signs(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i)
        if (std::signbit(x[i])) signs[i / 8] |= static_cast<std::uint8_t>(1 << i % 8);
    return signs;
}

bool is_negative(std::span<const std::uint8_t> signs, std::size_t i) {
    return (signs[i / 8] >> i % 8 & 1) != 0;
}

// Sixteen interleaved sums, then by halves.
float plain_mean(std::span<const float> v, bool negative) {
    double sums[16] = {};
    int count = 0;
    for (std::size_t i = 0; i < v.size(); ++i)
        if (std::signbit(v[i]) == negative) {
            sums[i % 16] += double{v[i]};
            ++count;
        }
    for (std::size_t width = 8; width > 0; width /= 2)
        for (std::size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
    return count == 0 ? 0.0f : static_cast<float>(sums[0] / count);
}

struct message {
    std::vector<sotto::detail::kernels::sign_means> means;
    bytes signs;
    floats residual;
};

message plain(std::span<const float> x, floats residual) {
    for (std::size_t i = 0; i < x.size(); ++i) residual[i] += x[i];
    message out{{}, plain_signs(residual), {}};
    for (std::size_t start = 0; start < x.size(); start += block) {
        const auto v = std::span(residual).subspan(start, std::min(block, x.size() - start));
        const sotto::detail::kernels::sign_means means{plain_mean(v, false), plain_mean(v, true)};
        for (float& value : v) value -= std::signbit(value) ? means.negative : means.positive;
        out.means.push_back(means);
    }
    out.residual = std::move(residual);
    return out;
}

bool same_means(const std::vector<sotto::detail::kernels::sign_means>& a,
                const std::vector<sotto::detail::kernels::sign_means>& b) {
    return std::equal(
        a.begin(), a.end(), b.begin(), b.end(),
        [](sotto::detail::kernels::sign_means x, sotto::detail::kernels::sign_means y) {
            const float first[] = {x.positive, x.negative}, second[] = {y.positive, y.negative};
            return same_values(first, second);
        });
}

message sent(std::span<const float> x, floats residual) {
    message out{std::vector<sotto::detail::kernels::sign_means>(
                    sotto::detail::kernels::blocks_of(x.size(), block)),
                bytes(sotto::detail::kernels::bytes_of_signs(x.size())), std::move(residual)};
    sotto::detail::kernels::quantise_one_bit(block, x, out.residual, out.means, out.signs);
    return out;
}

floats received(const message& m) {
    floats x(m.residual.size(), 9.0f);
    sotto::detail::kernels::dequantise_one_bit(block, m.means, m.signs, x);
    return x;
}

}  // namespace

TEST_CASE("signs are packed as by a plain loop on every set, at every length") {
    on_every_set([](instruction_set set) {
        at_every_length([&](std::size_t n, std::size_t shift) {
            const floats all = any_values(n + shift, n);
            const auto x = std::span(all).subspan(shift);
            bytes found(sotto::detail::kernels::bytes_of_signs(n) + 16, 0xa5),
                expected = plain_signs(x);
            expected.resize(found.size(), 0xa5);
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::pack_signs_kernel>(
                set, x.data(), n, found.data());
            CHECK(found == expected);
        });
    });
}

TEST_CASE("signs are unpacked as by a plain loop on every set, at every length") {
    on_every_set([](instruction_set set) {
        at_every_length([&](std::size_t n, std::size_t shift) {
            const bytes signs = plain_signs(normal_values(n, n + 1));
            const floats before = normal_values(n + shift + 20, n);
            floats found = before, sum = before, written = before, added = before;
            const float up = 0.75f, down = -2.5f;
            for (std::size_t i = 0; i < n; ++i) {
                written[shift + i] = is_negative(signs, i) ? down : up;
                added[shift + i] += written[shift + i];
            }
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::choose_by_sign<false>>(
                set, up, down, signs.data(), found.data() + shift, n);
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::choose_by_sign<true>>(
                set, up, down, signs.data(), sum.data() + shift, n);
            CHECK(same_values(found, written));
            CHECK(same_values(sum, added));
        });
    });
}

TEST_CASE("bytes of signs, and the values that come back") {
    const floats x{1.0f, -1.0f, -0.0f, 0.0f, -5.0f, INFINITY, -INFINITY, 1e-45f, -1e-45f};
    bytes signs(2);
    sotto::detail::kernels::pack_signs(x, signs);
    CHECK(signs == bytes{0b01010110, 0b00000001});
    floats y(9), sum(9, 1.0f);
    sotto::detail::kernels::unpack_signs(signs, 0.5f, y);
    CHECK(y == floats{0.5f, -0.5f, -0.5f, 0.5f, -0.5f, 0.5f, -0.5f, 0.5f, -0.5f});
    sotto::detail::kernels::unpack_signs_add(signs, 0.5f, sum);
    CHECK(sum == floats{1.5f, 0.5f, 0.5f, 1.5f, 0.5f, 1.5f, 0.5f, 1.5f, 0.5f});
}

TEST_CASE("one bit gives the bits of a plain loop on every set, at every length") {
    const auto check = [](std::size_t n, std::size_t shift) {
        const floats all = normal_values(n + shift, n), before = normal_values(n + shift, n + 1);
        const auto x = std::span(all).subspan(shift);
        const message expected =
            plain(x, floats(before.begin() + static_cast<std::ptrdiff_t>(shift), before.end()));
        floats written(n + shift, 9.0f), added = before;
        for (std::size_t i = 0; i < n; ++i) {
            const sotto::detail::kernels::sign_means& means = expected.means[i / block];
            written[shift + i] = is_negative(expected.signs, i) ? means.negative : means.positive;
            added[shift + i] += written[shift + i];
        }
        on_every_set([&](instruction_set set) {
            std::vector<sotto::detail::kernels::sign_means> means(
                sotto::detail::kernels::blocks_of(n, block));
            bytes signs(sotto::detail::kernels::bytes_of_signs(n));
            floats residual = before, found(n + shift, 9.0f), sum = before;
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::one_bit_blocks>(
                set, x.data(), residual.data() + shift, n, block, means.data(), signs.data());
            CHECK(same_means(means, expected.means));
            CHECK(signs == expected.signs);
            CHECK(same_values(std::span(residual).subspan(shift), expected.residual));
            CHECK(std::equal(residual.begin(),
                             residual.begin() + static_cast<std::ptrdiff_t>(shift),
                             before.begin()));
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::means_of_blocks<false>>(
                set, means.data(), signs.data(), found.data() + shift, n, block);
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::means_of_blocks<true>>(
                set, means.data(), signs.data(), sum.data() + shift, n, block);
            CHECK(same_values(found, written));
            CHECK(same_values(sum, added));
        });
    };
    at_every_length(check);
    for (const std::size_t n : {255u, 256u, 257u, 700u, 1024u, 1337u}) check(n, 1);
}

TEST_CASE("the means of one bit, and what they leave") {
    const floats x{3.0f, -1.0f, 1.0f, -4.0f, 0.0f, -0.0f, -1.0f};
    const message m = sent(x, floats(7));
    CHECK(m.signs == bytes{0b01001010});  // 0 + -0 has no sign
    CHECK(m.means[0].positive == 1.0f);
    CHECK(m.means[0].negative == -2.0f);
    CHECK(received(m) == floats{1.0f, -2.0f, 1.0f, -2.0f, 1.0f, 1.0f, -2.0f});
    CHECK(m.residual == floats{2.0f, 1.0f, 0.0f, -2.0f, -1.0f, -1.0f, 1.0f});
}

TEST_CASE("one bit leaves residuals without a mean, and loses nothing") {
    constexpr std::size_t n = 1000;
    constexpr int rounds = 50;
    floats residual(n);
    std::vector<double> given(n), got(n);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const floats x = normal_values(n, round), before = residual;
        const message m = sent(x, residual);
        const floats y = received(m);
        residual = m.residual;
        double left = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            const double value = double{x[i] + before[i]};
            CHECK(std::abs(double{y[i]} + double{residual[i]} - value) <=
                  0x1p-24 * std::abs(double{residual[i]}));
            given[i] += double{x[i]};
            got[i] += double{y[i]};
            left += double{residual[i]};
        }
        CHECK(std::abs(left) < n * 1e-6);
    }
    for (std::size_t i = 0; i < n; ++i)
        CHECK(std::abs(given[i] - got[i] - double{residual[i]}) < rounds * 2e-6);
}

TEST_CASE("one bit of finite values of every size is finite") {
    for (const float size : {std::numeric_limits<float>::max(), 1e-30f, 1e-45f, 0.0f}) {
        floats x(300, size);
        for (std::size_t i = 0; i < 100; ++i) x[i] = -size;
        const message m = sent(x, floats(x.size()));
        CHECK(m.means[0].positive == size);
        CHECK(std::abs(m.means[0].negative) == size);
        for (const float left : m.residual) CHECK(left == 0.0f);
    }
    const message none = sent(floats(256, -1.0f), floats(256));
    CHECK(none.means[0].positive == 0.0f);
    CHECK(none.means[0].negative == -1.0f);
}

TEST_CASE("what is not finite reaches its sign in its block alone") {
    floats x = normal_values(600, 3);
    x[300] = INFINITY;
    const message m = sent(x, floats(x.size()));
    CHECK(m.means[1].positive == INFINITY);
    CHECK(std::isfinite(m.means[1].negative));
    for (const std::size_t other : {0u, 2u}) {
        CHECK(std::isfinite(m.means[other].positive));
        CHECK(std::isfinite(m.means[other].negative));
    }
    x[300] = std::nanf("");
    CHECK(std::isnan(sent(x, floats(x.size())).means[1].positive));
}

TEST_CASE("signs and one bit refuse arrays that do not fit and blocks that can't be") {
    floats x(300), residual(299);
    bytes signs(38);
    std::vector<sotto::detail::kernels::sign_means> means(2);
    const auto few = std::span(signs).first(37);
    CHECK_THROWS_WITH_AS(sotto::detail::kernels::pack_signs(x, few),
                         "pack_signs: the size of signs is 37; expected 38, the bytes of 300 signs",
                         sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::unpack_signs(few, 1.0f, x), sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::unpack_signs_add(few, 1.0f, x), sotto::invalid_option);
    CHECK_THROWS_WITH_AS(
        sotto::detail::kernels::quantise_one_bit(256, x, residual, means, signs),
        "quantise_one_bit: the size of residual is 299; expected 300, the size of x",
        sotto::invalid_option);
    CHECK_THROWS_WITH_AS(
        sotto::detail::kernels::quantise_one_bit(512, x, x, means, signs),
        "quantise_one_bit: the size of means is 2; expected 1, the blocks of 512 in 300 values",
        sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::quantise_one_bit(100, x, x, means, signs),
                    sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::dequantise_one_bit(256, means, few, x),
                    sotto::invalid_option);
    CHECK_THROWS_AS(
        sotto::detail::kernels::dequantise_one_bit_add(256, std::span(means).first(1), signs, x),
        sotto::invalid_option);
    CHECK_NOTHROW(sotto::detail::kernels::pack_signs({}, {}));
    CHECK_NOTHROW(sotto::detail::kernels::unpack_signs({}, 1.0f, {}));
    CHECK_NOTHROW(sotto::detail::kernels::quantise_one_bit(256, {}, {}, {}, {}));
}
