#include "sotto/wire/detail/blocks/sign_block.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/generators.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

bytes block_of(const std::vector<float>& values) {
    bytes out;
    encode_signs(values, out);
    return out;
}

bytes with_magnitude(bytes block, float magnitude) {
    store_little_endian(block.data(), std::bit_cast<std::uint32_t>(magnitude));
    return block;
}

}  // namespace

TEST_CASE("a sign block says the signs and the mean magnitude, from any address") {
    for (const std::int64_t n : {0, 1, 7, 8, 9, 31, 32, 33, 1000}) {
        const auto values = testing::normal_values(n, static_cast<std::uint64_t>(n));
        double sum = 0.0;
        for (const float x : values) sum += std::abs(double{x});
        for (const std::size_t shift : {0u, 1u, 3u}) {
            bytes out(shift, std::byte{0xA5});
            const float magnitude = encode_signs(values, out);
            REQUIRE(static_cast<std::int64_t>(out.size() - shift) == encoded_sign_bytes(n));
            const auto block = decode_signs(byte_view(out).subspan(shift), n);
            REQUIRE(block);
            CHECK(block->magnitude == magnitude);
            CHECK(magnitude == doctest::Approx(n == 0 ? 0.0 : sum / static_cast<double>(n)));
            REQUIRE(block->signs.size() == detail::kernels::bytes_of_signs(values.size()));
            for (std::size_t i = 0; i < values.size(); ++i)
                CHECK((block->signs[i / 8] >> i % 8 & 1) == std::signbit(values[i]));
        }
    }
}

TEST_CASE("a sign block of another length is refused, with the length expected") {
    bytes block = block_of(testing::normal_values(20, 1));
    REQUIRE(block.size() == 7);
    for (std::size_t size = 0; size < block.size(); ++size) {
        const auto read = decode_signs(byte_view(block).first(size), 20);
        REQUIRE_FALSE(read);
        CHECK(read.why().text() ==
              "at byte 0 expected 7 bytes: a magnitude and a bit for every "
              "value, found " +
                  std::to_string(size));
    }
    block.push_back(std::byte{0});
    CHECK_FALSE(decode_signs(block, 20));
    CHECK_FALSE(decode_signs({}, 0));
}

TEST_CASE("magnitudes that are no magnitudes are refused, and bits behind the last value") {
    const bytes block = block_of(testing::normal_values(20, 1));
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float wrong :
         {infinity, -infinity, -1.0f, -0.0f, std::numeric_limits<float>::quiet_NaN()})
        CHECK_FALSE(decode_signs(with_magnitude(block, wrong), 20));
    for (const float right : {0.0f, 1e-45f, std::numeric_limits<float>::max()})
        CHECK(decode_signs(with_magnitude(block, right), 20));
    for (int bit = 0; bit < 8; ++bit) {
        bytes other = block;
        other.back() ^= static_cast<std::byte>(1 << bit);
        CHECK(static_cast<bool>(decode_signs(other, 20)) == (bit < 4));
    }
}
