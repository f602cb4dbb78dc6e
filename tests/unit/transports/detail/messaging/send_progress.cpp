#include "sotto/transports/detail/messaging/send_progress.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>

using namespace sotto;
using namespace sotto::detail::net;
using namespace std::chrono_literals;

TEST_CASE("send_progress: nothing acknowledged after several attempts -> stalls") {
    send_progress progress;
    const auto at = [&](duration present, std::uint64_t acknowledged, std::uint32_t in_flight,
                        std::uint32_t attempts) {
        return progress.stalls({acknowledged, in_flight, attempts}, present, 6s);
    };
    CHECK_FALSE(at(1s, 100, 4, 0));
    CHECK_FALSE(at(2s, 100, 4, 1));
    CHECK_FALSE(at(7s, 100, 4, 4));   // 6 s since it was last known to be on its way
    CHECK_FALSE(at(20s, 100, 4, 3));  // too few attempts, as after a halt of the machine
    const auto stalled = at(20s, 100, 4, 4);
    REQUIRE(stalled);
    CHECK(*stalled == 19s);
}

TEST_CASE("send_progress: acknowledgements or nothing in flight -> never stalls") {
    send_progress progress;
    const auto at = [&](duration present, std::uint64_t acknowledged, std::uint32_t in_flight,
                        std::uint32_t attempts) {
        return progress.stalls({acknowledged, in_flight, attempts}, present, 6s).has_value();
    };
    for (int second = 0; second < 100; second += 5)  // slowly, and each segment late
        CHECK_FALSE(at(std::chrono::seconds(second), static_cast<std::uint64_t>(second), 4, 5));
    for (int second = 100; second < 200; ++second)  // the receiver reads nothing
        CHECK_FALSE(at(std::chrono::seconds(second), 95, 0, 9));
    CHECK_FALSE(at(200s, 95, 1, 1));  // it reads again, and the first segment is late
    CHECK_FALSE(at(205s, 95, 1, 4));
    CHECK(at(206s, 95, 1, 4));
}
