#include "sotto/transports/simulated_faults.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "sotto/core/random.hpp"

using namespace sotto;
using namespace std::chrono_literals;

TEST_CASE("half of the faults that last are short, and the others last up to the longest") {
    using kind = network_fault::kind;
    const auto drawn = random_faults(random_stream(1), 5, 9000, 400ms, 600ms);
    REQUIRE(drawn.size() == 9000);
    CHECK(std::is_sorted(drawn.begin(), drawn.end(),
                         [](const auto& a, const auto& b) { return a.at < b.at; }));
    std::map<kind, double> all, grave;
    for (const network_fault& f : drawn) {
        CHECK(f.at < 400ms);
        CHECK(f.lasts < 600ms);
        CHECK(f.extra < 600ms);
        if (!f.is_for_a_while()) CHECK(f.lasts == 0ns);
        if (f.is_of_connection()) CHECK(f.rank != f.peer);
        ++all[f.what];
        if (!f.is_harmless(200ms)) ++grave[f.what];
    }
    // 1/2 * (600 - 200) / 600 of them.
    for (const kind what : {kind::pause, kind::partition, kind::delay}) {
        CHECK(all[what] > 900);
        CHECK(grave[what] / all[what] > 0.30);
        CHECK(grave[what] / all[what] < 0.37);
    }
}
