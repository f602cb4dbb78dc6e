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

TEST_CASE("errors: a text from outside -> one line without controls") {
    const std::string foreign = "ok\nrank 9 failed: lies\x1b[2J\xc2\x9b";
    const std::string shown = "ok\\nrank 9 failed: lies\\x1b[2J\\xc2\\x9b";
    CHECK(std::string(mismatch("'" + foreign + "'").what()) == "'" + shown + "'");
    CHECK(std::string(error(errc::timed_out, foreign).what()) == shown);
    CHECK(std::string(non_finite(1, "w\n", 3).what()).find("'w\\n'") != std::string::npos);
    const peer_failure peer(1, foreign, {0, 2, "send"});
    CHECK(peer.cause() == shown);
    CHECK(std::string(peer.what()) ==
          "rank 1 failed: " + shown + " (noticed in phase 'send', round 2)");
    // What was heard of a peer is raised again elsewhere.
    CHECK(std::string(peer_failure(1, peer.cause(), {}).cause()) == shown);
}
