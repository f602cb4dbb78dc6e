#include "sotto/launch/detail/supervision.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>

using namespace sotto;
using namespace sotto::detail::launch;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const time_point start{};
const sotto::detail::launch::patience three_and_four{.until_terminate = seconds(3),
                                                     .until_kill = seconds(4)};

// As Linux codes it.
sotto::detail::launch::ending exited(int rank, int status) {
    return {rank, status << 8};
}
sotto::detail::launch::ending killed(int rank, int signal) {
    return {rank, signal};
}

void end(sotto::detail::launch::supervision& ranks, const sotto::detail::launch::ending& one,
         time_point now) {
    ranks.ended(std::array{one}, now);
}

}  // namespace

TEST_CASE("an ending says who and how, and what a shell would return") {
    CHECK(exited(2, 3).text() == "rank 2 ended with exit status 3");
    CHECK(exited(2, 3).exit_status() == 3);
    CHECK(killed(7, SIGKILL).text() == "rank 7 was ended by signal 9 (Killed)");
    CHECK(killed(7, SIGKILL).exit_status() == 137);
    CHECK_FALSE(exited(0, 0).failed());
    CHECK(exited(0, 1).failed());
    CHECK(killed(0, SIGTERM).failed());
}

TEST_CASE("ranks that end well are nobody's business") {
    sotto::detail::launch::supervision ranks(2, three_and_four);
    end(ranks, exited(1, 0), start);
    CHECK(ranks.running() == 1);
    CHECK_FALSE(ranks.next());
    CHECK_FALSE(ranks.due(start + seconds(1000)));
    end(ranks, exited(0, 0), start);
    CHECK(ranks.running() == 0);
    CHECK_FALSE(ranks.first_failure());
}

TEST_CASE("when a rank fails the others are left in peace for a while, then asked, then killed") {
    sotto::detail::launch::supervision ranks(3, three_and_four);
    end(ranks, exited(1, 5), start);
    CHECK(ranks.first_failure()->rank == 1);
    CHECK(ranks.next() == start + seconds(3));
    CHECK_FALSE(ranks.due(start + seconds(3) - duration(1)));
    CHECK(ranks.due(start + seconds(3)) == SIGTERM);
    CHECK_FALSE(ranks.due(start + seconds(3)));
    CHECK(ranks.next() == start + seconds(7));
    CHECK(ranks.due(start + seconds(8)) == SIGKILL);
    CHECK_FALSE(ranks.next());
    CHECK_FALSE(ranks.due(start + seconds(100)));
}

TEST_CASE("where ranks are to keep going one that fails is told, and the others left alone") {
    sotto::detail::launch::supervision ranks(3, three_and_four, true);
    end(ranks, killed(1, SIGKILL), start);
    CHECK(ranks.first_failure()->exit_status() == 137);
    CHECK_FALSE(ranks.next());
    CHECK_FALSE(ranks.due(start + seconds(1000)));
    end(ranks, exited(0, 0), start + seconds(1000));
    CHECK(ranks.told(SIGINT) == SIGINT);  // as ever
    CHECK(ranks.told(SIGINT) == SIGKILL);
    CHECK(ranks.first_failure()->rank == 1);
}

TEST_CASE("later failures change neither who was first nor when the others are asked") {
    sotto::detail::launch::supervision ranks(3, three_and_four);
    end(ranks, exited(1, 5), start);
    end(ranks, killed(0, SIGSEGV), start + seconds(2));
    CHECK(ranks.first_failure()->text() == "rank 1 ended with exit status 5");
    CHECK(ranks.next() == start + seconds(3));
    end(ranks, exited(2, 0), start + seconds(2));
    CHECK_FALSE(ranks.due(start + seconds(3)));  // there is nobody to ask
}

TEST_CASE("of those that ended together the one that a signal ended was first") {
    sotto::detail::launch::supervision ranks(4, three_and_four);
    ranks.ended(std::array{exited(0, 0), exited(1, 1), killed(2, SIGKILL), killed(3, SIGABRT)},
                start);
    CHECK(ranks.first_failure()->rank == 2);
    sotto::detail::launch::supervision others(3, three_and_four);
    others.ended(std::array{exited(0, 0), exited(1, 1), exited(2, 3)}, start);
    CHECK(others.first_failure()->rank == 1);
}

TEST_CASE("a rank that a signal ended is the first also where another's end was told sooner") {
    sotto::detail::launch::supervision ranks(4, three_and_four);
    end(ranks, exited(1, 1), start);
    end(ranks, killed(3, SIGABRT), start + milliseconds(5));  // as std::terminate does of a failure
    CHECK(ranks.first_failure()->rank == 1);
    end(ranks, killed(2, SIGKILL), start + milliseconds(20));
    CHECK(ranks.first_failure()->text() == "rank 2 was ended by signal 9 (Killed)");
    end(ranks, killed(0, SIGSEGV), start + milliseconds(30));
    CHECK(ranks.first_failure()->rank == 2);
    CHECK(ranks.next() == start + seconds(3));  // from when the first end was told
}

TEST_CASE("supervision: a rank ends with 3, another otherwise -> the other is the cause") {
    sotto::detail::launch::supervision ranks(4, three_and_four);
    end(ranks, exited(0, 3), start);
    CHECK(ranks.first_failure()->rank == 0);
    end(ranks, exited(2, 3), start + milliseconds(5));
    CHECK(ranks.first_failure()->rank == 0);
    end(ranks, exited(1, 2), start + seconds(3));  // still left alone
    CHECK(ranks.first_failure()->text() == "rank 1 ended with exit status 2");
    end(ranks, exited(3, 1), start + seconds(3));
    CHECK(ranks.first_failure()->rank == 1);
    CHECK(ranks.next() == start + seconds(3));

    sotto::detail::launch::supervision together(3, three_and_four);
    together.ended(std::array{exited(0, 3), exited(1, 5), killed(2, SIGABRT)}, start);
    CHECK(together.first_failure()->rank == 1);
}

TEST_CASE("supervision: a rank ended with 3, others much later -> it stays the first") {
    sotto::detail::launch::supervision keeps_going(3, three_and_four, true);
    end(keeps_going, exited(0, 3), start);
    end(keeps_going, exited(1, 1), start + seconds(3) + duration(1));
    CHECK(keeps_going.first_failure()->rank == 0);

    sotto::detail::launch::supervision told(3, three_and_four);
    end(told, exited(0, 3), start);
    CHECK(told.due(start + seconds(3)) == SIGTERM);
    end(told, exited(1, 1), start + seconds(3));  // perhaps because of the signal
    CHECK(told.first_failure()->rank == 0);
}

TEST_CASE("a rank that is ended by the signal it was sent is no cause") {
    const sotto::detail::launch::patience none{.until_terminate = seconds(0),
                                               .until_kill = seconds(0)};
    sotto::detail::launch::supervision ranks(2, none);
    end(ranks, exited(1, 1), start);
    CHECK(ranks.due(start) == SIGTERM);
    end(ranks, killed(0, SIGTERM), start);
    CHECK(ranks.first_failure()->rank == 1);
    sotto::detail::launch::supervision told(2, three_and_four);
    end(told, exited(1, 1), start);
    CHECK(told.told(SIGINT) == SIGINT);
    end(told, killed(0, SIGINT), start);
    CHECK(told.first_failure()->rank == 1);
}

TEST_CASE("a signal is passed on and waited for; the second one kills") {
    sotto::detail::launch::supervision ranks(2, three_and_four);
    CHECK(ranks.told(SIGINT) == SIGINT);
    CHECK_FALSE(ranks.next());  // they may save what they have
    CHECK(ranks.told(SIGTERM) == SIGKILL);
    end(ranks, killed(0, SIGKILL), start);
    CHECK_FALSE(ranks.next());  // more cannot be done
    CHECK(ranks.told(SIGINT) == SIGKILL);
}

TEST_CASE("a rank that a passed signal ended is a failure, for which the others are not hurried") {
    sotto::detail::launch::supervision ranks(2, three_and_four);
    CHECK(ranks.told(SIGINT) == SIGINT);
    end(ranks, killed(0, SIGINT), start);
    CHECK(ranks.first_failure()->exit_status() == 130);
    CHECK_FALSE(ranks.next());
    CHECK_FALSE(ranks.due(start + seconds(1000)));
    CHECK(ranks.told(SIGINT) == SIGKILL);
}

TEST_CASE("a signal that comes after a failure changes nothing about it, a second one does") {
    sotto::detail::launch::supervision ranks(3, three_and_four);
    end(ranks, exited(0, 1), start);
    CHECK(ranks.told(SIGINT) == SIGINT);
    CHECK(ranks.due(start + seconds(3)) == SIGTERM);
    CHECK(ranks.next() == start + seconds(7));
    CHECK(ranks.told(SIGINT) == SIGKILL);
    CHECK_FALSE(ranks.next());
}

TEST_CASE("supervision: a rank's output is incomplete -> the others go on") {
    sotto::detail::launch::supervision ranks(3, three_and_four);
    end(ranks, exited(1, 4), start);
    CHECK(exited(1, 4).lacks_output());
    CHECK_FALSE(killed(1, 4).lacks_output());
    CHECK_FALSE(ranks.first_failure());
    CHECK_FALSE(ranks.next());
    end(ranks, exited(0, 4), start + seconds(1000));
    CHECK(ranks.outcome()->rank == 1);
    CHECK(ranks.outcome()->exit_status() == 4);
    end(ranks, exited(2, 1), start + seconds(2000));  // a failure counts more
    CHECK(ranks.outcome()->rank == 2);
    CHECK(ranks.first_failure()->rank == 2);
}
