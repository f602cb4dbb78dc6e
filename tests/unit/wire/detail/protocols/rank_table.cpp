#include "sotto/wire/detail/protocols/rank_table.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

std::vector<listening_place> places_of(std::size_t world) {
    std::vector<listening_place> places(world);
    for (std::size_t rank = 0; rank < world; ++rank) {
        for (std::size_t i = 0; i < 16; ++i)
            places[rank].address[i] = static_cast<std::byte>(16 * rank + i);
        places[rank].port = static_cast<std::uint16_t>(0xa000 + rank);
    }
    return places;
}

}  // namespace

TEST_CASE("a table of any world comes back as it was") {
    for (const std::size_t world : {1u, 2u, 3u, 64u, 1000u}) {
        const bytes out = written_rank_table(places_of(world));
        CHECK(out.size() == rank_table_bytes(world));
        const auto read = read_rank_table(out, world);
        REQUIRE(read);
        CHECK(*read == places_of(world));
    }
}

TEST_CASE("every flipped bit of a table is found") {
    const bytes out = written_rank_table(places_of(3));
    for (std::size_t bit = 0; bit < 8 * out.size(); ++bit) {
        bytes flipped = out;
        flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        CHECK_FALSE(read_rank_table(flipped, 3));
    }
}

TEST_CASE("a refusal of a table says where and what was expected") {
    bytes out = written_rank_table(places_of(2));
    out.back() ^= std::byte{1};
    CHECK(read_rank_table(out, 2).why().offset == 40);
    out.front() = std::byte{'X'};
    CHECK(read_rank_table(out, 2).why().offset == 0);
}

TEST_CASE("each rank's address and port stand at 4 + 18 times its number, little endian") {
    const bytes out = written_rank_table(places_of(2));
    REQUIRE(out.size() == 48);
    CHECK(out[0] == std::byte{'S'});
    CHECK(out[3] == std::byte{'a'});
    for (std::size_t i = 0; i < 16; ++i) CHECK(out[22 + i] == static_cast<std::byte>(16 + i));
    CHECK(out[38] == std::byte{0x01});
    CHECK(out[39] == std::byte{0xa0});
}
