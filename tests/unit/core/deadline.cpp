#include "sotto/core/deadline.hpp"

#include <doctest/doctest.h>

#include <chrono>

#include "sotto/core/clock.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

constexpr time_point start = time_point{} + 1h;

/// Looks at the limit as often as it asks for; returns when it passes, or `until`.
time_point watched(deadline& limit, time_point now, time_point until) {
    while (now < until && !limit.passed(now)) now = limit.next_look();
    return now;
}

}  // namespace

TEST_CASE("deadline: no halt -> it passes at its limit, and not before") {
    for (const duration length : {duration(1ns), duration(20ms), duration(2s), duration(24h)}) {
        CAPTURE(length.count());
        deadline limit(start, length);
        CHECK_FALSE(limit.passed(start));
        CHECK(watched(limit, start, start + 48h) == start + length);
        CHECK(limit.passed(start + length));
    }
}

TEST_CASE("deadline: halts longer than the limit -> it passes that much later") {
    deadline limit(start, 30s);
    const time_point halted = watched(limit, start, start + 10s);
    CHECK(halted == start + 10s);
    CHECK_FALSE(limit.passed(halted + 1h));  // asked for a look after 250 ms
    const time_point again = watched(limit, halted + 1h, halted + 1h + 5s);
    CHECK_FALSE(limit.passed(again + 24h));
    CHECK(watched(limit, again + 24h, start + 48h) == start + 30s + 25h);
}

TEST_CASE("deadline: halt in the last slice of the limit -> passed") {
    deadline limit(start, 30s);
    CHECK(watched(limit, start, start + 30s) == start + 30s);
    CHECK(limit.passed(start + 1h));
}

TEST_CASE("deadline: looks later than asked for, on a busy machine -> they count") {
    deadline limit(start, 30s);
    time_point now = start;
    while (!limit.passed(now)) now += 900ms;
    CHECK(now >= start + 30s);
    CHECK(now < start + 31s);
}

TEST_CASE("deadline: every look is late -> it still passes, after as many slices") {
    deadline limit(start, 2s);
    int looks = 0;
    for (time_point now = start; !limit.passed(now); now += 1h) ++looks;
    CHECK(looks == 8);
}

TEST_CASE("deadline: short limits -> short slices, so that a halt is seen") {
    deadline limit(start, 80ms);
    CHECK(limit.next_look() == start + 10ms);
    CHECK_FALSE(limit.passed(start + 81ms));
    CHECK(deadline(start, 1us).next_look() == start + 1us);
}

TEST_CASE("deadline: never -> it never passes, and asks for looks all the same") {
    for (deadline limit :
         {deadline(), deadline(start, deadline::never), deadline(start, deadline::never / 2)}) {
        CHECK_FALSE(limit.passed(start));
        CHECK_FALSE(limit.passed(start + std::chrono::years(90)));
        CHECK(limit.next_look() == start + std::chrono::years(90) + 250ms);
    }
}

TEST_CASE("waiting_time: a look at an earlier time -> nothing is taken back") {
    detail::waiting_time time(start);
    CHECK(time.at(start + 100ms) == 100ms);
    CHECK(time.at(start + 50ms) == 100ms);
    CHECK(time.looked() == start + 100ms);
    CHECK(time.at(start + 150ms) == 150ms);
}
