#include <doctest/doctest.h>

#include <array>
#include <cstddef>

#include "sotto/core/errors.hpp"
#include "sotto/transports/in_process.hpp"
#include "sotto/transports/metered.hpp"
#include "sotto/transports/run_in_process.hpp"

using namespace sotto;

static_assert(transport<metered<in_process>>);
static_assert(transport<metered<metered<in_process>>>);

TEST_CASE("metered tells peers and channels apart, and its sums are the whole") {
    run_in_process(3, [](in_process& inner) {
        metered t(inner, 3);
        std::array<std::byte, 100> memory{};
        const byte_view out(memory);
        // Rank 0 sends 10 + c bytes in channel c to rank 1 and 20 + c to rank 2.
        for (std::uint32_t channel = 0; channel < 5; ++channel) {
            if (t.rank() == 0) {
                t.wait(t.send(1, {channel, 0, 0}, out.first(10 + channel)));
                const request r = t.send(2, {channel, 0, 0}, out.first(20 + channel));
                while (!t.poll(r)) {}
            } else {
                t.wait(t.receive(t.rank() == 1 ? 0 : any_rank, {channel, 0, 0}, memory));
            }
        }
        if (t.rank() == 0) {
            CHECK(t.with(1, 0).bytes_sent == 10);
            CHECK(t.with(2, 1).bytes_sent == 21);
            CHECK(t.with(1, 2).bytes_sent == 12 + 13 + 14);  // the last one counts for all above
            CHECK(t.on(4).bytes_sent == 3 * 30 + 2 * (2 + 3 + 4));
            CHECK(t.with(1).bytes_sent == 60);
            CHECK(t.with(2).messages_sent == 5);
            CHECK(t.with(0).messages_sent == 0);
            CHECK(t.counters().bytes_received == 0);
        } else {
            CHECK(t.with(0).bytes_received == (t.rank() == 1 ? 60 : 110));
            CHECK(t.with(0, 1).messages_received == 1);
        }
        CHECK(t.counters().bytes_sent == inner.counters().bytes_sent);
        CHECK(t.counters().messages_received == inner.counters().messages_received);
    });
}

TEST_CASE("metered refuses a number of channels it has no room for") {
    run_in_process(1, [](in_process& inner) {
        CHECK_THROWS_AS(metered(inner, 0), invalid_option);
        CHECK_THROWS_AS(metered(inner, 65537), invalid_option);
    });
}
