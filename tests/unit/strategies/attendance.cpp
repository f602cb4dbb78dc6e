#include "sotto/strategies/attendance.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "sotto/consistency/bulk_synchronous.hpp"
#include "sotto/consistency/stale_synchronous.hpp"
#include "sotto/core/clock.hpp"

using namespace sotto;

namespace {

/// Who may go on now, in order.
template <class Consistency>
std::vector<int> going(attendance<Consistency>& of) {
    std::vector<int> all;
    while (const auto worker = of.next_to_go(time_point{})) all.push_back(*worker);
    return all;
}

template <class Consistency>
void begin(attendance<Consistency>& of, int workers) {
    for (int worker = 0; worker < workers; ++worker) of.expect(worker);
    for (int worker = 0; worker < workers; ++worker) of.attach(worker);
    CHECK(static_cast<int>(going(of).size()) == workers);
}

}  // namespace

TEST_CASE("in a first round all that begin are waited for") {
    attendance of(bulk_synchronous{}, 3, 2);
    for (const int worker : {0, 1, 2}) of.expect(worker);
    of.attach(0);
    CHECK(going(of) == std::vector{0});
    CHECK_FALSE(of.push(0, {}));
    CHECK_FALSE(of.round_complete());
    for (const int worker : {1, 2}) of.attach(worker);
    CHECK(going(of) == std::vector{1, 2});
    of.push(1, {});
    CHECK_FALSE(of.round_complete());
    of.push(2, {});
    CHECK(of.round_complete());
}

TEST_CASE("nobody waits for who begins in the midst, until it has pushed or the round has ended") {
    for (const bool pushes : {false, true}) {
        CAPTURE(pushes);
        attendance of(bulk_synchronous{}, 3, 2);
        begin(of, 2);
        for (const int worker : {0, 1}) of.push(worker, {});
        of.end_round();
        CHECK(going(of) == std::vector{0, 1});
        of.attach(2);
        CHECK(going(of) == std::vector{2});
        of.push(0, {});
        if (pushes) of.push(2, {});
        CHECK_FALSE(of.round_complete());
        of.push(1, {});
        CHECK(of.round_complete());
        CHECK(of.weight() == doctest::Approx(pushes ? 1.0 / 3.0 : 0.5));
        of.end_round();
        CHECK(going(of) == (pushes ? std::vector{0, 1, 2} : std::vector{0, 1}));
        for (const int worker : {0, 1}) of.push(worker, {});
        CHECK_FALSE(of.round_complete());  // for 2
        of.push(2, {});
        CHECK(of.round_complete());
    }
}

TEST_CASE("where there is one server all that are there are waited for") {
    attendance of(bulk_synchronous{}, 3, 1);
    for (const int worker : {0, 1}) of.expect(worker);
    of.go_on(0, true);
    of.go_on(1, false);
    of.attach(2);
    CHECK(going(of) == std::vector{0, 1, 2});
    for (const int worker : {1, 0}) {
        of.push(worker, {});
        CHECK_FALSE(of.round_complete());
    }
    of.push(2, {});
    CHECK(of.round_complete());
}

TEST_CASE("of those that go on with a new process of a server it waits for who pushes again") {
    // 0 was answered all, and waits at another server for 1, which waits here; 2 is new, and waits
    // at the other server as well.
    for (const bool new_first : {false, true}) {
        CAPTURE(new_first);
        attendance of(bulk_synchronous{}, 3, 2);
        for (const int worker : {0, 1, 2}) of.expect(worker);
        if (new_first) {
            of.attach(2);
            CHECK(going(of) == std::vector{2});
        }
        of.go_on(1, false);
        CHECK(going(of) == std::vector{1});
        of.push(1, {});
        CHECK_FALSE(of.round_complete());
        of.go_on(0, true);
        CHECK(going(of) == std::vector{0});
        if (!new_first) {
            CHECK_FALSE(of.round_complete());
            of.attach(2);
            CHECK(going(of) == std::vector{2});
        }
        CHECK(of.round_complete());
        of.end_round();
        CHECK(going(of) == std::vector{1});
        for (const int worker : {0, 1}) of.push(worker, {});
        CHECK_FALSE(of.round_complete());
        of.push(2, {});
        CHECK(of.round_complete());
    }
}

TEST_CASE("another time all begin anew") {
    attendance of(bulk_synchronous{}, 2, 2);
    begin(of, 2);
    for (const int worker : {0, 1}) of.push(worker, {});
    of.end_round();
    for (const int worker : {0, 1}) CHECK(of.detach(worker));
    CHECK_FALSE(of.detach(0));
    of.begin_again();
    begin(of, 2);
    of.push(0, {});
    CHECK_FALSE(of.round_complete());
}

TEST_CASE("where nothing is collected who begins in the midst is as far as the slowest") {
    attendance of(stale_synchronous{.bound = 1}, 2, 2);
    begin(of, 1);
    for (int round = 0; round < 5; ++round) {
        of.push(0, {});
        CHECK(going(of) == std::vector{0});
    }
    of.attach(1);
    CHECK(going(of) == std::vector{1});
    of.push(0, {});
    CHECK(going(of) == std::vector{0});
    of.push(0, {});
    CHECK(going(of).empty());
    of.push(1, {});
    CHECK(going(of) == std::vector{0, 1});
}
