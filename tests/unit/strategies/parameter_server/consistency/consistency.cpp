#include "sotto/strategies/parameter_server/consistency/consistency.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/dynamic_stale_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/stale_synchronous.hpp"
#include "sotto/core/errors.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

/// A consistency with workers that count their gradients.
template <class Consistency>
class counted {
public:
    counted(const Consistency& options, int workers)
        : state_(options.bind(workers)), clocks_(static_cast<std::size_t>(workers)) {}

    void attach(int worker) { state_.attach(worker, clock(worker) = state_.start(worker)); }
    void attach_all() {
        for (std::size_t w = 0; w < clocks_.size(); ++w) attach(static_cast<int>(w));
    }
    void pushed(int worker, time_point now = {}) { state_.pushed(worker, ++clock(worker), now); }
    bool may_go(int worker, time_point now = {}) {
        const bool may = state_.may_go(worker, now);
        if (may) clock(worker) = std::max(clock(worker), state_.clock(worker));
        return may;
    }
    auto* operator->() noexcept { return &state_; }
    std::int64_t& clock(int worker) { return clocks_[static_cast<std::size_t>(worker)]; }

private:
    consistency_state<Consistency> state_;
    std::vector<std::int64_t> clocks_;
};

}  // namespace

TEST_CASE("a stale synchronous worker may be as many rounds ahead as the bound") {
    counted state(stale_synchronous{.bound = 1}, 3);
    state.attach_all();
    const time_point now{};
    state.pushed(0, now);
    CHECK(state.may_go(0, now));
    state.pushed(0, now);
    CHECK_FALSE(state.may_go(0, now));
    state.pushed(1, now);
    CHECK_FALSE(state.may_go(0, now));  // 2 has done nothing yet
    state->detach(2);
    CHECK(state.may_go(0, now));
    CHECK(state->weight() == doctest::Approx(0.5));
}

TEST_CASE("stale synchronous: workers that finished -> gradients still weigh 1/n") {
    const auto last_weights = [](const auto& options) {
        counted state(options, 3);
        state.attach_all();
        const auto weight_of = [&](int worker) {
            state.pushed(worker);
            const double weight = state->weight();
            CHECK(state.may_go(worker));
            return weight;
        };
        std::vector<double> found;
        for (int round = 0; round < 4; ++round)
            for (const int worker : {0, 1}) found.push_back(weight_of(worker));
        // Both end; the third has four rounds to do, and a fifth that nobody else has.
        for (const int worker : {0, 1}) state->finish(worker);
        for (int round = 0; round < 5; ++round) found.push_back(weight_of(2));
        return found;
    };
    std::vector<double> expected(12, 1.0 / 3.0);
    expected.push_back(1.0);
    CHECK(last_weights(stale_synchronous{.bound = 4}) == expected);
    CHECK(last_weights(dynamic_stale_synchronous{.lowest = 4, .highest = 6}) == expected);
    CHECK(last_weights(stale_synchronous{.bound = 4, .averaged = false}) ==
          std::vector<double>(13, 1.0));
}

TEST_CASE("stale synchronous: worker lost or back again -> counts if present") {
    counted state(stale_synchronous{.bound = 4}, 3);
    state.attach_all();
    for (const int worker : {0, 1}) state.pushed(worker);
    state->finish(0);
    state->detach(1);
    state.pushed(2);
    CHECK(state->weight() == doctest::Approx(0.5));
    state->attach(0, 1);
    state.pushed(2);
    CHECK(state->weight() == doctest::Approx(0.5));
    state->detach(0);
    state.pushed(2);
    CHECK(state->weight() == 1.0);
}

TEST_CASE("who comes late begins where the slowest is") {
    counted state(stale_synchronous{.bound = 1}, 3);
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

TEST_CASE("rounds are of gradients of one clock, the lowest first") {
    counted state(bulk_synchronous{}, 3);
    state.attach_all();
    state.clock(0) = 7;
    state.pushed(0);  // 8
    CHECK_FALSE(state->round_complete());
    state.clock(1) = 4;
    state.pushed(1);                       // 5
    CHECK_FALSE(state->round_complete());  // for 2
    state.clock(2) = 7;
    state.pushed(2);  // 8
    REQUIRE(state->round_complete());
    CHECK(state->in_round(1));
    CHECK_FALSE(state->in_round(0));
    CHECK(state->weight() == 1.0);
    state->end_round();
    CHECK(state.may_go(1));
    CHECK(state.clock(1) == 7);  // it catches up
    CHECK_FALSE(state.may_go(0));
    CHECK_FALSE(state->round_complete());
    state.pushed(1);
    REQUIRE(state->round_complete());
    CHECK(state->weight() == doctest::Approx(1.0 / 3.0));
}

TEST_CASE("a gradient of a round that has ended is one of its own, or late where some may be") {
    for (const int backups : {0, 1}) {
        CAPTURE(backups);
        counted state(bulk_synchronous{.backups = backups}, 2);
        state.attach_all();
        state.pushed(0);
        if (backups == 0) state->detach(1);
        REQUIRE(state->round_complete());
        state->end_round();
        if (backups == 0) state->attach(1, 0);
        CHECK(state->is_late(1) == (backups > 0));
        state.pushed(1);
        CHECK(state->round_complete() == (backups == 0));
        if (backups == 0) state->end_round();
        CHECK(state.may_go(1));
    }
}

TEST_CASE("who is overlooked is not waited for until it pushes") {
    counted state(bulk_synchronous{}, 2);
    state.attach_all();
    state->overlook(0);
    state.pushed(1);
    CHECK(state->round_complete());
    state->end_round();
    state.clock(0) = 1;
    state.pushed(0);
    CHECK_FALSE(state->round_complete());  // for 1
    state.pushed(1);
    CHECK(state->round_complete());
}

TEST_CASE("the range is used where waiting at its lower end would be longer") {
    // Worker 0 needs 1 s a round, worker 1 needs 4 s.
    counted state(dynamic_stale_synchronous{.lowest = 2, .highest = 6}, 2);
    state.attach_all();
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
                         "dynamic_stale_synchronous: highest is 2; it must be at least 3 and at "
                         "most 65536",
                         invalid_option);
    CHECK_THROWS_AS((void)bulk_synchronous{.backups = 2}.bind(2), invalid_option);
}
