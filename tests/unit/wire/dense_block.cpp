#include "sotto/wire/dense_block.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "sotto/core/random.hpp"

using namespace sotto;
using namespace sotto::wire;

TEST_CASE("a dense block comes back in each format and is as long as it says") {
    random_stream random(1);
    for (const value_format format : {value_format::fp32, value_format::fp16, value_format::bf16})
        for (const std::size_t n : {0u, 1u, 100u, 1025u}) {
            std::vector<float> values(n), back(n);
            for (float& value : values) value = random.normal();
            bytes out(5);
            encode_dense(values, format, out);
            REQUIRE(static_cast<std::int64_t>(out.size()) ==
                    5 + encoded_dense_bytes(static_cast<std::int64_t>(n), format));
            REQUIRE(decode_dense(byte_view(out).subspan(5), back));
            for (std::size_t i = 0; i < n; ++i) REQUIRE(back[i] == rounded(format, values[i]));
        }
}

TEST_CASE("a dense block of another length or format is refused and nothing is touched") {
    bytes out;
    encode_dense(std::vector<float>(6, 1.0f), value_format::fp32, out);
    std::vector<float> back(6, 2.0f);
    for (std::size_t size = 0; size < out.size(); ++size)
        CHECK_FALSE(decode_dense(byte_view(out).first(size), back));
    out.push_back(std::byte{0});
    CHECK_FALSE(decode_dense(out, back));
    out.pop_back();
    for (int format = 3; format < 256; ++format) {
        out[0] = static_cast<std::byte>(format);
        CHECK_FALSE(decode_dense(out, back));
    }
    CHECK(back == std::vector<float>(6, 2.0f));
    out[0] = std::byte{0};
    CHECK(decode_dense(out, back));
}

TEST_CASE("any part of a dense block is what all of it has there, and its floats lie in it") {
    random_stream random(2);
    for (const value_format format : {value_format::fp32, value_format::fp16, value_format::bf16}) {
        std::vector<float> values(50), all(50), part(7, 2.0f);
        for (float& value : values) value = random.normal();
        bytes out;
        encode_dense(values, format, out);
        REQUIRE(decode_dense(out, all));
        for (std::int64_t first = 0; first <= 43; ++first) {
            REQUIRE(decode_dense_part(out, 50, first, part));
            CHECK(std::equal(part.begin(), part.end(), all.begin() + first));
        }
        part.assign(7, 2.0f);
        CHECK_FALSE(decode_dense_part(out, 50, -1, part));
        CHECK_FALSE(decode_dense_part(out, 50, 44, part));
        CHECK_FALSE(decode_dense_part(out, 50, INT64_MAX, part));
        CHECK_FALSE(decode_dense_part(out, 49, 0, part));
        CHECK_FALSE(decode_dense_part(out, 51, 0, part));
        CHECK_FALSE(decode_dense_part({}, 50, 0, part));
        CHECK(part == std::vector<float>(7, 2.0f));

        const auto floats = dense_floats(out, 50);
        REQUIRE(floats);
        CHECK(floats->has_value() ==
              (format == value_format::fp32 && std::endian::native == std::endian::little));
        if (floats->has_value()) {
            CHECK((*floats)->data() == out.data() + 1);
            CHECK((*floats)->size() == 200);
        }
        CHECK_FALSE(dense_floats(out, 49));
        CHECK_FALSE(dense_floats({}, 50));
        out[0] = std::byte{3};
        CHECK_FALSE(dense_floats(out, 50));
        CHECK_FALSE(decode_dense_part(out, 50, 0, part));
    }
}

TEST_CASE("a dense block is encoded without memory when there is room") {
    const std::vector<float> values(300, 1.5f);
    bytes out;
    out.reserve(static_cast<std::size_t>(encoded_dense_bytes(300, value_format::fp16)));
    const std::byte* const memory = out.data();
    encode_dense(values, value_format::fp16, out);
    CHECK(out.data() == memory);
}
