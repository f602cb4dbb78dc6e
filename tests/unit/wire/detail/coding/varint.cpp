#include "sotto/wire/detail/coding/varint.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string_view>

#include "sotto/core/random.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

bytes written(std::uint64_t value) {
    bytes out;
    append_varint(out, value);
    return out;
}

bytes raw(std::initializer_list<int> values) {
    bytes out;
    for (const int value : values) out.push_back(static_cast<std::byte>(value));
    return out;
}

}  // namespace

TEST_CASE("a varint comes back, in as many bytes as it says, whatever follows it") {
    random_stream random(1);
    for (int width = 0; width <= 64; ++width)
        for (int repeat = 0; repeat < 20; ++repeat) {
            const std::uint64_t value = width == 0 ? 0 : random.bits64() >> (64 - width);
            bytes out = written(value);
            REQUIRE(static_cast<std::int64_t>(out.size()) == varint_bytes(value));
            out.push_back(std::byte{0xFF});
            const auto back = read_varint(out);
            REQUIRE(back);
            CHECK(back->value == value);
            CHECK(back->bytes == varint_bytes(value));
        }
}

TEST_CASE("varints have the bytes of LEB128") {
    CHECK(written(0) == raw({0}));
    CHECK(written(127) == raw({0x7F}));
    CHECK(written(128) == raw({0x80, 0x01}));
    CHECK(written(624485) == raw({0xE5, 0x8E, 0x26}));
    const bytes largest = written(std::numeric_limits<std::uint64_t>::max());
    CHECK(largest.size() == 10);
    CHECK(largest.back() == std::byte{1});
}

TEST_CASE("a varint has one spelling: longer ones are refused, and so are more than 64 bits") {
    CHECK_FALSE(read_varint(raw({0x80, 0x00})));
    CHECK_FALSE(read_varint(raw({0xFF, 0x80, 0x00})));
    CHECK_FALSE(read_varint(raw({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02})));
    CHECK_FALSE(
        read_varint(raw({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81, 0x00})));
    CHECK(read_varint(raw({0x80, 0x01})));
}

TEST_CASE("a varint that is cut off is refused, and the fault says where") {
    const bytes whole = written(std::uint64_t{1} << 50);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto cut = read_varint(byte_view(whole).first(size));
        REQUIRE_FALSE(cut);
        CHECK(cut.why().offset == static_cast<std::int64_t>(size));
        CHECK(std::string_view(cut.why().expected) == "a whole varint");
    }
}
