#include "sotto/strategies/detail/in_flight_time.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace sotto;
using namespace std::chrono_literals;

TEST_CASE("what is under way at once counts once, and gaps do not count") {
    detail::in_flight_time some;
    CHECK(some.total(5ns) == 0ns);
    some.left(10ns);
    CHECK(some.total(12ns) == 2ns);
    some.left(14ns);
    some.arrived(20ns);
    CHECK(some.total(21ns) == 11ns);
    some.arrived(25ns);
    CHECK(some.total(90ns) == 15ns);
    some.left(100ns);
    some.arrived(101ns);
    CHECK(some.total(200ns) == 16ns);
}
