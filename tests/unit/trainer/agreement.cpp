#include "sotto/trainer/agreement.hpp"

#include <doctest/doctest.h>

#include <string>

#include "sotto/transports/run_in_process.hpp"

using namespace sotto;

TEST_CASE("the first line that differs is shown from both sides") {
    using detail::difference;
    CHECK(difference(3, "a = 1\nb = 2\n", 0, "a = 1\nb = 2\n") == "");
    CHECK(difference(3, "a = 1\nb = 2\n", 0, "a = 1\nb = 5\n") ==
          "rank 3 has 'b = 2' where rank 0 has 'b = 5'");
    CHECK(difference(1, "a = 1\n", 0, "a = 1\nb = 5\n") ==
          "rank 1 has 'nothing' where rank 0 has 'b = 5'");
    CHECK(difference(1, "a = 1\nb = 2\n", 0, "") ==
          "rank 1 has 'a = 1' where rank 0 has 'nothing'");
    CHECK(difference(1, "", 0, "") == "");
}

TEST_CASE("equal texts pass, and the lowest rank that differs is named to all") {
    for (const int world : {1, 2, 5})
        run_in_process(world, [](in_process& transport) {
            CHECK_NOTHROW(require_agreement(transport, std::string("seed = 1\n")));
            CHECK_NOTHROW(require_agreement(transport, std::string()));
        });
    run_in_process(4, [](in_process& transport) {
        const std::string text = "seed = " + std::to_string(transport.rank() / 2) + "\n";
        CHECK_THROWS_WITH_AS(require_agreement(transport, text),
                             "the ranks are configured differently: rank 2 has 'seed = 1' where "
                             "rank 0 has 'seed = 0'",
                             mismatch);
    });
}

TEST_CASE("a configuration too long to be one is refused by every rank before it is sent") {
    run_in_process(3, [](in_process& transport) {
        const std::string text(transport.rank() == 1 ? (1u << 20) + 1 : 1u << 20, 'x');
        CHECK_THROWS_WITH_AS(require_agreement(transport, text),
                             "the configuration of rank 1 has 1048577 bytes; at most 1048576 are "
                             "possible",
                             mismatch);
    });
}
