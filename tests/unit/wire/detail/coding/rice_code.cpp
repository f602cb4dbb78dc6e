#include "sotto/wire/detail/coding/rice_code.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/index_lists.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

std::int64_t cost(const testing::index_list& indices, int shift) {
    std::int64_t bits = rice_code::header_bits;
    std::uint64_t next = 0;
    for (const std::uint64_t index : indices) {
        bits += static_cast<std::int64_t>((index - next) >> shift) + 1 + shift;
        next = index + 1;
    }
    return bits;
}

}  // namespace

TEST_CASE("the shift is the cheapest of all, and the bits are those written") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const std::uint64_t n = std::uint64_t{1} << (4 + seed % 29);
        const std::size_t k = 1 + static_cast<std::size_t>(seed * seed);
        auto indices = seed % 2 == 0 ? testing::random_indices(n, k, seed)
                                     : testing::runs_of_indices(n, k, seed);
        if (indices.empty()) indices.push_back(static_cast<std::uint32_t>(n - 1));
        const auto code = rice_code::of(std::span<const std::uint32_t>(indices));
        for (int shift = 0; shift <= rice_code::shift_max; ++shift)
            CHECK(code.bits <= cost(indices, shift));
        CHECK(code.bits == cost(indices, code.shift));

        if (code.bits > 10'000'000) continue;
        bytes out;
        bit_writer writer(out);
        code.write(std::span<const std::uint32_t>(indices), writer);
        writer.finish();
        CHECK(static_cast<std::int64_t>(out.size()) == (code.bits + 7) / 8);
        bit_reader reader(out);
        testing::index_list back(indices.size());
        REQUIRE(rice_code::read(static_cast<std::int64_t>(n), reader, std::span(back)));
        CHECK(reader.finished());
        CHECK(back == indices);
    }
}

TEST_CASE("a quotient of many words comes back, and one that leaves the tensor is refused") {
    const testing::index_list far{4'000'000};
    const rice_code code{3, cost(far, 3)};  // 500 000 zeros: never chosen, but valid
    bytes out;
    bit_writer writer(out, code.bits);
    code.write(std::span<const std::uint32_t>(far), writer);
    writer.finish();
    testing::index_list back(1);
    bit_reader reader(out);
    REQUIRE(rice_code::read(4'000'001, reader, std::span(back)));
    CHECK(back == far);
    bit_reader again(out);
    CHECK_FALSE(rice_code::read(4'000'000, again, std::span(back)));
    bit_reader cut(byte_view(out).first(out.size() / 2));
    CHECK_FALSE(rice_code::read(4'000'001, cut, std::span(back)));
}

TEST_CASE("a shift above 40 is refused") {
    bytes out;
    bit_writer writer(out);
    writer.put(41, 6);
    writer.put(1, 56);
    writer.finish();
    bit_reader reader(out);
    std::vector<std::uint64_t> back(1);
    CHECK_FALSE(rice_code::read(std::int64_t{1} << 40, reader, std::span(back)));
}

TEST_CASE("a gap beyond any tensor is refused, by the index as long as that is a number") {
    for (const std::uint64_t quotient : {1u << 21, 1u << 22}) {
        bytes out;
        bit_writer writer(out);
        writer.put(rice_code::shift_max, rice_code::header_bits);
        writer.put_zeros(quotient);
        writer.put(1 | 5 << 1, 1 + rice_code::shift_max);
        writer.finish();
        bit_reader reader(out);
        testing::index_list back(1);
        const auto refused = rice_code::read(std::int64_t{1} << 40, reader, std::span(back));
        REQUIRE_FALSE(refused);
        const auto found = static_cast<std::uint64_t>(refused.why().found);
        const bool is_number = quotient < 1u << 22;
        CHECK(found == (is_number ? (quotient << 40) + 5 : quotient));
        CHECK(std::string(refused.why().expected) ==
              (is_number ? "an index below the tensor's size" : "a gap below 2^62"));
    }
}
