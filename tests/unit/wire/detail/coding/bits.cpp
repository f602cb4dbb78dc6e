#include "sotto/wire/detail/coding/bits.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "sotto/core/random.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

using fields = std::vector<std::pair<std::uint64_t, int>>;

fields random_fields(std::size_t count, std::uint64_t seed) {
    random_stream random(seed);
    fields made(count);
    for (auto& [value, width] : made) {
        width = static_cast<int>(random.below(57));
        value = width == 0 ? 0 : random.bits64() >> (64 - width);
    }
    return made;
}

std::int64_t width_of(const fields& all) {
    std::int64_t bits = 0;
    for (const auto& field : all) bits += field.second;
    return bits;
}

}  // namespace

TEST_CASE("fields of 0 to 56 bits come back, however many bits were announced") {
    for (std::size_t count = 0; count < 60; ++count) {
        const fields all = random_fields(count, count);
        const std::int64_t bits = width_of(all);
        for (const std::int64_t announced : {std::int64_t{0}, bits / 2, bits, bits + 700}) {
            bytes out{std::byte{1}, std::byte{2}};
            bit_writer writer(out, announced);
            for (const auto& [value, width] : all) writer.put(value, width);
            writer.finish();
            REQUIRE(static_cast<std::int64_t>(out.size()) == 2 + (bits + 7) / 8);
            CHECK(out[0] == std::byte{1});
            CHECK(out[1] == std::byte{2});

            bit_reader reader(byte_view(out).subspan(2));
            std::int64_t left = 8 * static_cast<std::int64_t>(out.size() - 2);
            for (const auto& [value, width] : all) {
                REQUIRE(reader.take(width) == value);
                left -= width;
                REQUIRE(reader.bits_left() == left);
                REQUIRE(reader.offset() ==
                        static_cast<std::int64_t>(out.size()) - 2 - (left + 7) / 8);
            }
            CHECK(reader.finished());
        }
    }
}

TEST_CASE("the first bit is the lowest of the first byte and the last byte is filled with zeros") {
    bytes out;
    bit_writer writer(out);
    writer.put(1, 1);
    writer.put(0b10, 2);
    writer.put(0b111111, 6);
    writer.finish();
    CHECK(out == bytes{std::byte{0b11111101}, std::byte{0b00000001}});
}

TEST_CASE("a writer takes no memory when the capacity suffices to the last byte") {
    const fields all = random_fields(1000, 5);
    bytes out;
    out.reserve(3 + static_cast<std::size_t>((width_of(all) + 7) / 8));
    out.resize(3);
    const std::byte* const memory = out.data();
    for (const std::int64_t announced : {std::int64_t{0}, width_of(all)}) {
        out.resize(3);
        bit_writer writer(out, announced);
        for (const auto& [value, width] : all) writer.put(value, width);
        writer.finish();
        CHECK(out.data() == memory);
        CHECK(out.size() == out.capacity());
    }
}

TEST_CASE("many zeros at once are as many zeros one by one") {
    for (const std::uint64_t count : {0u, 1u, 55u, 56u, 57u, 112u, 113u, 1000u}) {
        bytes out;
        bit_writer writer(out);
        writer.put_zeros(count);
        writer.put(1, 1);
        writer.finish();
        REQUIRE(out.size() == count / 8 + 1);
        CHECK(out.back() == static_cast<std::byte>(1u << count % 8));
    }
}

TEST_CASE("past the end a reader gives zeros and says so") {
    const bytes in(3, std::byte{0xFF});
    bit_reader reader(in);
    CHECK(reader.take(20) == 0xFFFFF);
    CHECK_FALSE(reader.overrun());
    CHECK_FALSE(reader.finished());  // four ones are left
    CHECK(reader.take(8) == 0x0F);
    CHECK(reader.overrun());
    CHECK(reader.offset() == 3);
    for (int i = 0; i < 100; ++i) REQUIRE(reader.take(56) == 0);
    CHECK_FALSE(reader.finished());
    CHECK(reader.bits_left() == 24 - 28 - 5600);
}

TEST_CASE("a reader is finished within a byte of the end and only if that is zero") {
    const bytes in{std::byte{0x0F}, std::byte{0x00}};
    bit_reader after_four(in);
    after_four.take(4);
    CHECK_FALSE(after_four.finished());  // a whole byte is left
    bit_reader after_nine(in);
    after_nine.take(9);
    CHECK(after_nine.finished());
    bit_reader nothing{byte_view{}};
    CHECK(nothing.finished());
}

TEST_CASE("a counter counts what a writer writes") {
    const fields all = random_fields(50, 9);
    bit_counter counter;
    for (const auto& [value, width] : all) counter.put(value, width);
    CHECK(counter.bits == width_of(all));
}
