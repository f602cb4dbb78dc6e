#include "sotto/wire/detail/blocks/codebook_block.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

using indices_type = std::vector<std::uint32_t>;
using codes_type = std::vector<std::uint8_t>;
using floats = std::vector<float>;

bytes block_of(std::int64_t n, const indices_type& indices, const codes_type& codes,
               const floats& codebook) {
    bytes out;
    encode_codebook(n, indices, codes, codebook, out);
    return out;
}

/// Of 20 elements: 2 -> -1, 3 -> 0.5, 9 -> 4, 12 -> 0.5, 19 -> -1.
bytes five_entries() {
    return block_of(20, {2, 3, 9, 12, 19}, {0, 1, 2, 1, 0}, {-1.0f, 0.5f, 4.0f});
}

std::string why(byte_view block, std::int64_t n, std::size_t room = 64) {
    indices_type indices(room);
    floats values(room);
    const auto read = decode_codebook(block, n, indices, values);
    return read ? "" : read.why().text();
}

bytes with_word(bytes block, std::size_t number, float value) {
    store_little_endian(block.data() + 1 + 4 * number, std::bit_cast<std::uint32_t>(value));
    return block;
}

}  // namespace

TEST_CASE("a codebook block says places and values, with one to four of these, from any address") {
    random_stream random(3);
    for (const std::int64_t n : {1, 4, 5, 64, 4096, 100'000})
        for (int words = 1; words <= 4; ++words) {
            indices_type places;
            codes_type codes;
            for (std::int64_t i = 0; i < n; ++i) {
                if (n > 5 && random.below(40) != 0 && i > 5) continue;
                places.push_back(static_cast<std::uint32_t>(i));
                codes.push_back(
                    static_cast<std::uint8_t>(codes.size() % static_cast<std::size_t>(words)));
            }
            if (places.size() < static_cast<std::size_t>(words)) continue;
            floats codebook{-2.5f, -1e-45f, 1.0f, 3e38f};
            codebook.resize(static_cast<std::size_t>(words));
            for (const std::size_t shift : {0u, 1u, 3u}) {
                bytes out(shift, std::byte{0xA5});
                encode_codebook(n, places, codes, codebook, out);
                const auto block = byte_view(out).subspan(shift);
                CHECK(static_cast<std::int64_t>(block.size()) <=
                      encoded_codebook_bytes_max(n, static_cast<std::int64_t>(places.size())));
                indices_type indices(places.size());
                floats values(places.size());
                const auto read = decode_codebook(block, n, indices, values);
                REQUIRE(read);
                CHECK(indices == places);
                for (std::size_t j = 0; j < values.size(); ++j)
                    CHECK(values[j] == codebook[codes[j]]);
                CHECK(peek_codebook(block)->words == words);
            }
        }
}

TEST_CASE("nothing to say is one byte, and one value takes no codes") {
    CHECK(block_of(1000, {}, {}, {}).size() == 1);
    CHECK(why(bytes{std::byte{0}}, 0).empty());
    CHECK(block_of(3, {0, 1, 2}, {0, 0, 0}, {7.0f}).size() == 1 + 4);
    CHECK(block_of(3, {0, 1, 2}, {0, 1, 0}, {7.0f, 8.0f}).size() == 1 + 8 + 1);
}

TEST_CASE("64 of each 4,096 places cost less than ten bits each with their values") {
    random_stream random(5);
    constexpr std::int64_t n = 1 << 18, k = n / 64;
    std::vector<bool> chosen(n);
    for (std::int64_t count = 0; count < k;) {
        const auto i = random.below(n);
        count += !chosen[i];
        chosen[i] = true;
    }
    indices_type indices;
    codes_type codes;
    for (std::size_t i = 0; i < chosen.size(); ++i)
        if (chosen[i]) {
            indices.push_back(static_cast<std::uint32_t>(i));
            codes.push_back(static_cast<std::uint8_t>(i % 4));
        }
    const auto block = block_of(n, indices, codes, {-2.0f, -1.0f, 1.0f, 2.0f});
    CHECK(8.0 * static_cast<double>(block.size()) / k < 9.6);
}

TEST_CASE("a codebook block that is cut anywhere or goes on is refused") {
    const bytes block = five_entries();
    for (std::size_t size = 0; size < block.size(); ++size)
        CHECK_FALSE(why(byte_view(block).first(size), 20).empty());
    bytes longer = block;
    longer.push_back(std::byte{0});
    CHECK_FALSE(why(longer, 20).empty());
    CHECK(why(block, 20).empty());
    CHECK(why({}, 20) == "at byte 0 expected a whole varint, found 0");
    CHECK(why(byte_view(block).first(14), 20) ==
          "at byte 1 expected a codebook and a code for every entry, found 13");
}

TEST_CASE("heads that no block has are refused") {
    const auto head = [](std::uint64_t value) {
        bytes out;
        append_varint(out, value);
        out.resize(64);
        return out;
    };
    CHECK(why(head(5 << 3 | 5), 20) ==
          "at byte 0 expected a codebook of at most 4 values (5 to 7 are kept for later versions), "
          "found 5");
    CHECK(why(head(5 << 3), 20) ==
          "at byte 0 expected a codebook of at least 1 value and at most one for every entry, "
          "found 0");
    CHECK_FALSE(why(head(1 << 3 | 2), 20).empty());
    CHECK(why(head(21 << 3 | 4), 20) ==
          "at byte 0 expected at most as many entries as elements, found 21");
    CHECK(why(head(5 << 3 | 4), 20, 4) ==
          "at byte 0 expected at most as many entries as there is room for, found 5");
    CHECK_FALSE(why(head(~std::uint64_t{0} - 3), std::int64_t{1} << 32).empty());
}

TEST_CASE("codebooks that do not rise, are not finite or go unused are refused") {
    const bytes block = five_entries();
    constexpr float infinity = std::numeric_limits<float>::infinity();
    CHECK(why(with_word(block, 1, -1.0f), 20) ==
          "at byte 5 expected a value of the codebook, finite and above the one before it, found "
          "3212836864");
    for (const float wrong : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 0.5f})
        CHECK_FALSE(why(with_word(block, 2, wrong), 20).empty());
    CHECK(why(with_word(block, 2, 0.75f), 20).empty());

    bytes other = block;  // codes 0 1 2 1 | 0
    REQUIRE(other[other.size() - 2] == std::byte{0b01'10'01'00});
    other[other.size() - 2] = std::byte{0b01'01'01'00};
    CHECK(why(other, 20) ==
          "at byte 16 expected an entry for every value of the codebook, and none for number, "
          "found 2");
    other[other.size() - 2] = std::byte{0b01'10'11'00};
    CHECK(why(other, 20) == "at byte 16 expected a code of a value of the codebook, found 3");
    other = block;
    other.back() |= std::byte{4};
    CHECK(why(other, 20) == "at byte 17 expected zeros behind the last code, found 4");
}

TEST_CASE("what cannot be written is refused, and nothing is") {
    bytes out;
    const auto refuses = [&](const indices_type& indices, const codes_type& codes,
                             const floats& codebook, const char* text) {
        CHECK_THROWS_WITH_AS(encode_codebook(20, indices, codes, codebook, out), text,
                             invalid_option);
        CHECK(out.empty());
    };
    refuses({1, 2}, {0}, {1.0f}, "encode_codebook: 2 indices for 1 codes; they come in pairs");
    refuses({1}, {0}, {1, 2, 3, 4, 5}, "encode_codebook: a codebook of 5 values; at most 4");
    refuses({1, 2}, {0, 1}, {1.0f, 1.0f},
            "encode_codebook: value 1 of the codebook is 1.000000; they must be finite and rise "
            "strictly");
    refuses({1}, {1}, {1.0f},
            "encode_codebook: code 0 is 1; it must be below 1, the values of the codebook");
    refuses({1}, {0}, {1.0f, 2.0f}, "encode_codebook: no entry has value 1 of the codebook");
    CHECK_THROWS_AS(encode_codebook(20, indices_type{20}, codes_type{0}, floats{1.0f}, out),
                    invalid_option);
    CHECK_THROWS_AS(encode_codebook(20, indices_type{3, 3}, codes_type{0, 0}, floats{1.0f}, out),
                    invalid_option);
    CHECK(out.empty());
}
