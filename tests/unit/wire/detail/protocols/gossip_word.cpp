#include "sotto/wire/detail/protocols/gossip_word.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

bytes some_word() {
    bytes out(gossip_word_bytes);
    write_gossip_word({.kind = gossip_kind::stands,
                       .has_trained = true,
                       .waits = true,
                       .skips_next = true,
                       .fit = 2,
                       .rounds = 0x0304,
                       .since = 5,
                       .at = {0x0607, 8},
                       .links = 3,
                       .lost = 0.25,
                       .own = {1.0, 2.0, true, 1},
                       .decided = {0x0606, 9},
                       .ranks = 4,
                       .of_ranks = {1.5, 0.5, false, 3},
                       .clock = {2, 0x0506, 1.25, 0.125},
                       .configuration = 0x0102030405060708},
                      out.data());
    return out;
}

std::int64_t fault_at(const bytes& in) {
    const auto read = read_gossip_word(in);
    REQUIRE_FALSE(read);
    return read.why().offset;
}

}  // namespace

TEST_CASE("a word has these bytes, and comes back as it was") {
    const bytes in = some_word();
    const std::vector<int> expected{
        5, 0, 0, 0, 101, 1, 0,    0,    2, 0, 0, 0, 0, 0, 0,    0,     // kind, what is so, calls
        4, 3, 0, 0, 0,   0, 0,    0,    5, 0, 0, 0, 0, 0, 0,    0,     // rounds, since
        7, 6, 0, 0, 0,   0, 0,    0,    8, 0, 0, 0, 4, 0, 0,    0,     // at, ranks
        0, 0, 0, 0, 0,   0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0,    0x40,  // own
        6, 6, 0, 0, 0,   0, 0,    0,    9, 0, 0, 0, 3, 0, 0,    0,     // decided, links
        0, 0, 0, 0, 0,   0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f,  // of ranks
        0, 0, 0, 0, 0,   0, 0xd0, 0x3f, 2, 0, 0, 0, 0, 0, 0,    0,     // lost, the clock's call
        6, 5, 0, 0, 0,   0, 0,    0,    0, 0, 0, 0, 0, 0, 0xf4, 0x3f,  // its step and epoch
        0, 0, 0, 0, 0,   0, 0xc0, 0x3f,                                // its pace
        8, 7, 6, 5, 4,   3, 2,    1,                                   // configuration
        3, 0, 0, 0};
    REQUIRE(in.size() == expected.size());
    for (std::size_t i = 0; i < in.size(); ++i) CHECK(std::to_integer<int>(in[i]) == expected[i]);

    const auto read = read_gossip_word(in);
    REQUIRE(read);
    CHECK(read->kind == gossip_kind::stands);
    CHECK(read->has_trained);
    CHECK_FALSE(read->takes_part);
    CHECK(read->waits);
    CHECK_FALSE(read->is_done);
    CHECK_FALSE(read->another);
    CHECK(read->skips_next);
    CHECK(read->at == gossip_place{0x0607, 8});
    CHECK(read->own == gossip_sums{1.0, 2.0, true, 1});
    CHECK(read->decided == gossip_place{0x0606, 9});
    CHECK(read->of_ranks == gossip_sums{1.5, 0.5, false, 3});
    CHECK(read->ranks == 4);
    CHECK(read->links == 3);
    CHECK(read->lost == 0.25);
    CHECK(read->clock == gossip_clock{2, 0x0506, 1.25, 0.125});
}

TEST_CASE("rounds of an earlier step come first, whatever their number in it") {
    CHECK(gossip_place{1, 9} < gossip_place{2, 1});
    CHECK(gossip_place{2, 1} < gossip_place{2, 2});
    CHECK(gossip_place{} < gossip_place{0, 1});
}

TEST_CASE("a clock goes on from its step, and no earlier step is before it") {
    const gossip_clock clock{1, 100, 2.0, 0.25};
    CHECK(clock.epoch_of(100) == 2.0);
    CHECK(clock.epoch_of(106) == 3.5);
    CHECK(clock.epoch_of(99) == 2.0);
}

TEST_CASE("what is no word is refused where it is wrong") {
    bytes in = some_word();
    for (std::size_t size = 0; size < in.size(); ++size)
        CHECK(fault_at(bytes(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(size))) == 0);
    in.push_back(std::byte{0});
    CHECK(fault_at(in) == 0);

    const auto put = [&](std::size_t at, std::uint32_t value) {
        in = some_word();
        store_little_endian(in.data() + at, value);
        return fault_at(in);
    };
    CHECK(put(0, 8) == 0);
    CHECK(put(4, 512) == 4);
    for (const std::size_t at : {48u, 56u, 80u, 88u, 96u, 120u, 128u})
        for (const double value : {-1.0, std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN()}) {
            in = some_word();
            store_little_endian(in.data() + at, std::bit_cast<std::uint64_t>(value));
            CHECK(fault_at(in) == static_cast<std::int64_t>(at));
        }
}
