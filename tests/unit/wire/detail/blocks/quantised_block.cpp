#include "sotto/wire/detail/blocks/quantised_block.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/wire/detail/coding/little_endian.hpp"
#include "support/generators.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

template <int Bits>
bytes block_of(const std::vector<float>& values, std::int64_t bucket, std::size_t shift = 0) {
    const quantised_shape shape{static_cast<std::int64_t>(values.size()), bucket, Bits};
    std::vector<float> scales(static_cast<std::size_t>(buckets_of(shape)));
    bytes out(shift, std::byte{0xA5});
    encode_quantised(shape, scales, out, [&](auto to_scales, auto to_codes) {
        detail::kernels::quantise<Bits>({.block = static_cast<std::size_t>(bucket)}, values,
                                        to_scales, to_codes);
    });
    return out;
}

template <int Bits>
void comes_back() {
    for (const std::int64_t n : {0, 1, 3, 255, 256, 257, 1000})
        for (const std::size_t shift : {0u, 1u, 3u}) {
            const quantised_shape shape{n, 256, Bits};
            const auto values = testing::normal_values(n, static_cast<std::uint64_t>(n));
            const bytes out = block_of<Bits>(values, 256, shift);
            REQUIRE(static_cast<std::int64_t>(out.size() - shift) ==
                    encoded_quantised_bytes(shape));
            std::vector<float> expected_scales(static_cast<std::size_t>(buckets_of(shape)));
            std::vector<std::uint8_t> expected(static_cast<std::size_t>(code_bytes_of(shape)));
            detail::kernels::quantise<Bits>({.block = 256}, values, expected_scales, expected);
            std::vector<float> room(expected_scales.size() + 2);
            const auto block = decode_quantised(byte_view(out).subspan(shift), shape, room);
            REQUIRE(block);
            CHECK(std::ranges::equal(block->scales, expected_scales));
            CHECK(std::ranges::equal(block->codes, expected));
        }
}

bool accepted(const bytes& block, const quantised_shape& shape) {
    std::vector<float> room(static_cast<std::size_t>(buckets_of(shape)));
    return static_cast<bool>(decode_quantised(block, shape, room));
}

}  // namespace

TEST_CASE("a quantised block comes back in each width, from any address") {
    comes_back<2>();
    comes_back<4>();
    comes_back<8>();
}

TEST_CASE("a quantised block of another length, width or number of buckets is refused") {
    const auto values = testing::normal_values(300, 1);
    const quantised_shape shape{300, 256, 4};
    bytes block = block_of<4>(values, 256);
    REQUIRE(accepted(block, shape));
    for (std::size_t size = 0; size < block.size(); ++size)
        CHECK_FALSE(accepted(bytes(block.begin(), block.begin() + std::ptrdiff_t(size)), shape));
    CHECK_FALSE(accepted(block, {300, 512, 4}));
    CHECK_FALSE(accepted(block, {299, 256, 2}));
    for (int bits = 0; bits < 256; ++bits) {
        bytes other = block;
        other[0] = static_cast<std::byte>(bits);
        CHECK(accepted(other, shape) == (bits == 4));
    }
    block.push_back(std::byte{0});
    CHECK_FALSE(accepted(block, shape));
    block.pop_back();
    std::vector<float> small(1);
    CHECK_FALSE(decode_quantised(block, shape, small));
}

TEST_CASE("scales that are no scales are refused") {
    const quantised_shape shape{300, 256, 8};
    const bytes block = block_of<8>(testing::normal_values(300, 1), 256);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const std::size_t bucket : {0u, 1u})
        for (const float scale : {infinity, -infinity, -1.0f, -0.0f, 0.0f, 1e-45f, 3e38f,
                                  std::numeric_limits<float>::quiet_NaN()}) {
            bytes other = block;
            store_little_endian(other.data() + 301 + 4 * bucket,
                                std::bit_cast<std::uint32_t>(scale));
            CHECK(accepted(other, shape) ==
                  (scale >= 0.0f && scale < infinity && !std::signbit(scale)));
        }
}

TEST_CASE("every code but the lowest is accepted at every place, and nothing behind the last") {
    const auto every_code = [](auto width) {
        constexpr int bits = decltype(width)::value;
        for (const std::int64_t n : {1, 5, 33, 64, 67}) {
            const quantised_shape shape{n, 256, bits};
            const bytes block = block_of<bits>(testing::normal_values(n, 3), 256);
            const std::int64_t places = code_bytes_of(shape) * 8 / bits;
            for (std::int64_t place = 0; place < places; ++place)
                for (int code = 0; code < 1 << bits; ++code) {
                    bytes other = block;
                    std::byte& byte = other[static_cast<std::size_t>(1 + place * bits / 8)];
                    const int shift = static_cast<int>(place * bits % 8);
                    const int mask = ((1 << bits) - 1) << shift;
                    byte = (byte & ~static_cast<std::byte>(mask)) |
                           static_cast<std::byte>(code << shift);
                    const bool expected = place < n ? code != 1 << (bits - 1) : code == 0;
                    if (accepted(other, shape) != expected)
                        FAIL("place " << place << ", code " << code << " of " << n);
                }
        }
    };
    every_code(std::integral_constant<int, 2>{});
    every_code(std::integral_constant<int, 4>{});
    every_code(std::integral_constant<int, 8>{});
}
