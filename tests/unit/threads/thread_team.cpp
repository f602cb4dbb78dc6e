#include "sotto/kernels/thread_team.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "support/failing_calls.hpp"

using namespace sotto;

TEST_CASE("each member works once a call, and its writes are seen after it") {
    for (const int threads : {1, 2, 4}) {
        kernels::thread_team team(threads);
        CHECK(team.size() == threads);
        std::vector<int> calls(static_cast<std::size_t>(threads));
        for (int round = 1; round <= 200; ++round) {
            team.run([&](int member) { ++calls[static_cast<std::size_t>(member)]; });
            CHECK(std::accumulate(calls.begin(), calls.end(), 0) == threads * round);
        }
        for (const int count : calls) CHECK(count == 200);
    }
}

TEST_CASE("what a member throws comes out of the call, and the team goes on") {
    kernels::thread_team team(3);
    for (int thrower = 0; thrower < 3; ++thrower) {
        const auto work = [&](int member) {
            if (member == thrower) throw std::runtime_error("by " + std::to_string(member));
        };
        CHECK_THROWS_WITH_AS(team.run(work), ("by " + std::to_string(thrower)).c_str(),
                             const std::runtime_error&);
    }
    int sum = 0;
    team.run([&](int member) {
        if (member == 0) ++sum;
    });
    CHECK(sum == 1);
}

TEST_CASE("thread_team: no thread left -> the error names the thread, the others end") {
    if (!support::failing_calls::works) return;
    const support::failing_calls second(1);
    std::string text;
    try {
        kernels::thread_team team(4);
    } catch (const io_failure& e) {
        text = e.what();
    }
    CHECK(text.starts_with("thread_team: thread 2 of 4 cannot be started: "));
}

TEST_CASE("a team without members is refused") {
    CHECK_THROWS_WITH_AS(kernels::thread_team(0),
                         "thread_team: threads is 0; it must be from 1 to 1024",
                         const invalid_option&);
}
