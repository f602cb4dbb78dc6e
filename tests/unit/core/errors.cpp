#include <doctest/doctest.h>

#include <ostream>
#include <string>

#include "sotto/core/errors.hpp"

using namespace sotto;

TEST_CASE("a peer's failure says who, why and where, and its epoch only once membership changed") {
    const peer_failure first(2, "out of memory", {0, 7, "commit"});
    CHECK(std::string(first.what()) ==
          "rank 2 failed: out of memory (noticed in phase 'commit', round 7)");
    const peer_failure later(0, "it left", {3, 9, "exchange"}, errc::timed_out);
    CHECK(std::string(later.what()) ==
          "rank 0 failed: it left (noticed in phase 'exchange', round 9, membership epoch 3)");
    CHECK(later.code() == errc::timed_out);
    CHECK(later.when().epoch == 3);
}
