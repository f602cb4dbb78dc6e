#include "sotto/strategies/detail/parameter_server/version_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <vector>

using sotto::detail::version_store;

namespace {

bool all_are(std::span<const float> values, float expected) {
    return values.size() == 8 &&
           std::ranges::all_of(values, [&](float x) { return x == expected; });
}

void step_to(sotto::detail::version_store& versions, float value, int worker = -1) {
    std::ranges::fill(versions.next(worker), value);
    versions.step(worker);
}

}  // namespace

TEST_CASE("what was read stays, whatever steps write, and nothing is copied where nobody reads") {
    sotto::detail::version_store versions(2, 8);
    const float* const first = versions.now().data();
    step_to(versions, 1.0f);
    CHECK(versions.now().data() == first);
    CHECK(versions.read(0).data() == first);
    CHECK(versions.read(1).data() == first);
    step_to(versions, 2.0f, 0);
    CHECK(all_are(versions.of(1), 1.0f));
    CHECK(versions.of(0).empty());
    CHECK(all_are(versions.now(), 2.0f));
    versions.read(0);
    // Only worker 1 has what it had read, and pushes: its memory is the next.
    const float* const own = versions.of(1).data();
    step_to(versions, 3.0f, 1);
    CHECK(versions.now().data() == own);
    CHECK(all_are(versions.of(0), 2.0f));
    CHECK(versions.memory() == 2 * 8 * sizeof(float));
}

TEST_CASE("one worker alone and its server share one array") {
    sotto::detail::version_store versions(1, 8);
    for (int step = 1; step < 5; ++step) {
        versions.read(0);
        step_to(versions, static_cast<float>(step), 0);
    }
    CHECK(all_are(versions.now(), 4.0f));
    CHECK(versions.memory() == 8 * sizeof(float));
}

TEST_CASE("a change in part leaves what was read, and needs no copy where nobody has") {
    sotto::detail::version_store versions(2, 8);
    step_to(versions, 1.0f);
    const float* const first = versions.now().data();
    CHECK(versions.change().data() == first);
    versions.read(1);
    versions.change()[3] = 5.0f;
    CHECK(all_are(versions.of(1), 1.0f));
    CHECK(versions.now()[3] == 5.0f);
    CHECK(versions.now()[2] == 1.0f);
    // What it alone has read is its own already; else it has all as it is now.
    versions.own(1)[0] = 9.0f;
    CHECK(versions.of(1)[0] == 9.0f);
    CHECK(versions.of(1)[3] == 1.0f);
    versions.read(1);
    versions.own(1)[0] = 8.0f;
    CHECK(versions.of(1)[0] == 8.0f);
    CHECK(versions.of(1)[3] == 5.0f);
    CHECK(versions.now()[0] == 1.0f);
    versions.release(1);
    CHECK(versions.of(1).empty());
}

TEST_CASE("versions are a ring: no more than from the oldest in use to the present one") {
    // 50 workers have read, of which 3 go on by turns: what they hold is 3 steps old at most.
    sotto::detail::version_store versions(50, 8);
    for (int worker = 0; worker < 50; ++worker) versions.read(worker);
    CHECK(versions.memory() == 8 * sizeof(float));
    for (int worker = 3; worker < 50; ++worker) versions.release(worker);
    float read_by[3] = {};
    for (int step = 1; step < 1000; ++step) {
        const int worker = step % 3;
        step_to(versions, static_cast<float>(step), worker);
        read_by[worker] = static_cast<float>(step);
        versions.read(worker);
        for (int each = 0; each < 3; ++each) CHECK(all_are(versions.of(each), read_by[each]));
    }
    CHECK(versions.memory() <= 4 * 8 * sizeof(float));
}

TEST_CASE("free_unused: versions without a reader -> their memory is returned, others stay") {
    sotto::detail::version_store versions(2, 8);
    versions.read(0);
    step_to(versions, 1.0f);
    versions.read(1);
    step_to(versions, 2.0f);
    CHECK(versions.memory() == 3 * 8 * sizeof(float));
    versions.release(0);
    versions.free_unused();
    CHECK(versions.memory() == 2 * 8 * sizeof(float));
    CHECK(all_are(versions.of(1), 1.0f));
    CHECK(all_are(versions.now(), 2.0f));
}
