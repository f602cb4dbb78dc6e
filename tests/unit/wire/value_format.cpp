#include "sotto/wire/value_format.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/random.hpp"

using namespace sotto;
using namespace sotto::wire;

TEST_CASE("what comes back from the wire is what `rounded` says, bit for bit") {
    random_stream random(1);
    for (const value_format format : {value_format::fp32, value_format::fp16, value_format::bf16})
        for (const std::size_t count : {0u, 1u, 7u, 511u, 512u, 513u, 2000u}) {
            std::vector<float> values(count), back(count);
            for (float& value : values) value = std::bit_cast<float>(random());
            bytes out{std::byte{9}};
            append_values(format, values, out);
            REQUIRE(static_cast<std::int64_t>(out.size()) ==
                    1 + static_cast<std::int64_t>(count) * bytes_per_value(format));
            REQUIRE(read_values(format, byte_view(out).subspan(1), back));
            for (std::size_t i = 0; i < count; ++i)
                REQUIRE(std::bit_cast<std::uint32_t>(back[i]) ==
                        std::bit_cast<std::uint32_t>(rounded(format, values[i])));
        }
}

TEST_CASE("rounding twice is rounding once") {
    random_stream random(2);
    for (int i = 0; i < 1000; ++i) {
        const float value = random.normal();
        CHECK(rounded(value_format::fp32, value) == value);
        for (const value_format format : {value_format::fp16, value_format::bf16}) {
            const float once = rounded(format, value);
            CHECK(rounded(format, once) == once);
            CHECK(once ==
                  doctest::Approx(value).epsilon(format == value_format::fp16 ? 0x1p-10 : 0x1p-7));
        }
    }
}

TEST_CASE("bytes that are not exactly the values asked for are refused and nothing is touched") {
    const bytes in(13);
    for (const value_format format : {value_format::fp32, value_format::fp16, value_format::bf16})
        for (std::size_t size = 0; size <= in.size(); ++size) {
            std::vector<float> values(3, 5.0f);
            const bool fits = size == 3 * static_cast<std::size_t>(bytes_per_value(format));
            CHECK(static_cast<bool>(read_values(format, byte_view(in).first(size), values)) ==
                  fits);
            CHECK(values == std::vector<float>(3, fits ? 0.0f : 5.0f));
        }
}

TEST_CASE("numbers that name no value format are refused") {
    CHECK(*value_format_of(0, 0) == value_format::fp32);
    CHECK(*value_format_of(2, 0) == value_format::bf16);
    CHECK_FALSE(value_format_of(3, 7));
    CHECK(value_format_of(3, 7).why().offset == 7);
}

TEST_CASE("value format: finite value -> beyond if it rounds to infinity") {
    random_stream random(2);
    for (const value_format format : {value_format::fp32, value_format::fp16, value_format::bf16}) {
        std::vector<float> values{0.0f,        -0.0f,           65504.0f,    65519.99f,
                                  65520.0f,    -1e30f,          0x1.fep127f, 0x1.fefffep127f,
                                  0x1.ffp127f, -0x1.fffffep127f};
        for (int i = 0; i < 20000; ++i) values.push_back(std::bit_cast<float>(random()));
        for (const float value : values) {
            const bool is_beyond = std::isfinite(value) && std::isinf(rounded(format, value));
            CHECK((first_beyond(format, std::span(&value, 1)) == 0) == is_beyond);
        }
        CHECK(std::isfinite(rounded(format, largest_of(format))));
        CHECK(rounded(format, largest_of(format)) == largest_of(format));
        CHECK(first_beyond(format, {}) == -1);
    }
    const std::vector<float> some{1.0f, -65504.0f, 1e6f, 2e6f};
    CHECK(first_beyond(value_format::fp16, some) == 2);
    CHECK(range_hint(value_format::fp32).empty());
    CHECK(range_hint(value_format::bf16).empty());
}
