#include "sotto/consistency/consistency.hpp"

#include <doctest/doctest.h>

#include <chrono>

#include "sotto/consistency/bulk_synchronous.hpp"
#include "sotto/consistency/dynamic_stale_synchronous.hpp"
#include "sotto/consistency/stale_synchronous.hpp"
#include "sotto/core/errors.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

template <class State>
void attach_all(State& state, int workers) {
    for (int w = 0; w < workers; ++w) state.attach(w);
}

}  // namespace

TEST_CASE("a stale synchronous worker may be as many rounds ahead as the bound") {
    auto state = stale_synchronous{.bound = 1}.bind(3);
    attach_all(state, 3);
    const time_point now{};
    state.pushed(0, now);
    CHECK(state.may_go(0, now));
    state.pushed(0, now);
    CHECK_FALSE(state.may_go(0, now));
    state.pushed(1, now);
    CHECK_FALSE(state.may_go(0, now));  // 2 has done nothing yet
    state.detach(2);
    CHECK(state.may_go(0, now));
    CHECK(state.weight() == doctest::Approx(0.5));
}

TEST_CASE("who comes late begins where the slowest is") {
    auto state = stale_synchronous{.bound = 1}.bind(3);
    state.attach(0);
    state.attach(1);
    const time_point now{};
    for (int i = 0; i < 5; ++i) {
        state.pushed(0, now);
        state.pushed(1, now);
    }
    state.attach(2);
    state.pushed(0, now);
    CHECK(state.may_go(0, now));
    state.pushed(0, now);
    CHECK_FALSE(state.may_go(0, now));
    state.pushed(2, now);
    CHECK_FALSE(state.may_go(0, now));  // for 1
    state.pushed(1, now);
    CHECK(state.may_go(0, now));
}

TEST_CASE("who has given its gradient to an earlier process is not waited for in the first round") {
    auto state = bulk_synchronous{}.bind(3);
    attach_all(state, 3);
    const time_point now{};
    state.excuse(0);
    state.pushed(1, now);
    CHECK_FALSE(state.round_complete());  // for 2
    state.excuse(2);
    CHECK(state.round_complete());
    state.end_round();
    CHECK(state.may_go(1, now));
    for (const int worker : {0, 1, 2}) {  // then all are
        CHECK_FALSE(state.round_complete());
        state.pushed(worker, now);
        CHECK_FALSE(state.may_go(worker, now));
    }
    CHECK(state.round_complete());
    CHECK(state.weight() == doctest::Approx(1.0 / 3.0));
}

TEST_CASE("where all have given their gradients elsewhere the next round is of all") {
    auto state = bulk_synchronous{}.bind(3);
    attach_all(state, 3);
    const time_point now{};
    for (const int worker : {0, 1, 2}) state.excuse(worker);
    for (const int worker : {2, 0, 1}) {
        CHECK_FALSE(state.round_complete());
        state.pushed(worker, now);
    }
    CHECK(state.round_complete());
}

TEST_CASE("who is excused and pushes all the same takes part in the round") {
    auto state = bulk_synchronous{}.bind(2);
    attach_all(state, 2);
    const time_point now{};
    state.excuse(0);
    state.pushed(0, now);
    CHECK_FALSE(state.may_go(0, now));
    CHECK_FALSE(state.round_complete());
    state.pushed(1, now);
    CHECK(state.round_complete());
    CHECK(state.weight() == doctest::Approx(0.5));
}

TEST_CASE("who is excused is as far ahead of the slowest as if it had pushed here") {
    auto state = stale_synchronous{.bound = 1}.bind(2);
    attach_all(state, 2);
    const time_point now{};
    state.excuse(0);
    CHECK(state.may_go(0, now));
    state.pushed(0, now);
    CHECK_FALSE(state.may_go(0, now));
    state.pushed(1, now);
    CHECK(state.may_go(0, now));
}

TEST_CASE("the range is used where waiting at its lower end would be longer") {
    // Worker 0 needs 1 s a round, worker 1 needs 4 s.
    auto state = dynamic_stale_synchronous{.lowest = 2, .highest = 6}.bind(2);
    attach_all(state, 2);
    const auto at = [](double s) {
        return time_point{} +
               std::chrono::duration_cast<duration>(std::chrono::duration<double>(s));
    };
    const auto push = [&](int worker, double t) {
        state.pushed(worker, at(t));
        return state.may_go(worker, at(t));
    };
    CHECK(state.may_go(0, at(0)));
    CHECK(state.may_go(1, at(0)));
    CHECK(push(0, 1.0));
    CHECK(push(0, 2.0));
    // Until 1 has pushed nothing is foreseen: 0 waits where it is 3 rounds ahead.
    CHECK_FALSE(push(0, 3.0));
    CHECK(push(1, 4.0));
    CHECK(state.may_go(0, at(4.0)));
    // 4 : 1 at 5 s. 1 ends its next round at 8 s: three more rounds would end just then.
    CHECK(push(0, 5.0));
    CHECK(push(0, 6.0));
    CHECK(push(0, 7.0));
    CHECK_FALSE(push(0, 8.0));  // 7 : 1 is as far as the range goes
    CHECK(push(1, 8.0));
    // 7 : 2. 1 ends its next round at 12 s, and two more fit into the range.
    CHECK(state.may_go(0, at(8.0)));
}

TEST_CASE("what cannot be is refused by name") {
    CHECK_THROWS_WITH_AS((void)stale_synchronous{.bound = -1}.bind(2),
                         "stale_synchronous: bound is -1; it must be at least 0", invalid_option);
    CHECK_THROWS_WITH_AS((void)(dynamic_stale_synchronous{.lowest = 3, .highest = 2}.bind(2)),
                         "dynamic_stale_synchronous: from 3 to 2; 0 <= lowest <= highest is "
                         "expected",
                         invalid_option);
    CHECK_THROWS_AS((void)bulk_synchronous{.backups = 2}.bind(2), invalid_option);
}
