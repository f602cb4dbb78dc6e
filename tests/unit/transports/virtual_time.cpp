#include "sotto/transports/virtual_time.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

using namespace sotto;
using namespace sotto::detail::simulation;
using namespace std::chrono_literals;

namespace {

/// Writes down when what happened.
class diary final : public happening {
public:
    explicit diary(virtual_time& time) : time_(&time) {}

    void happen(std::uint64_t what) override { add("event " + std::to_string(what)); }
    void add(const std::string& what) {
        lines.push_back(std::to_string((time_->now() - time_point{}) / 1ms) + " " + what);
    }

    std::vector<std::string> lines;

private:
    virtual_time* time_;
};

}  // namespace

TEST_CASE("what comes first goes on: by time, then what was told, then ranks in their order") {
    virtual_time time(3);
    diary book(time);
    const time_point start = time.now();
    time.tell(start + 2ms, book, 7);
    time.tell(start + 2ms, book, 3);
    time.tell(start + 1ms, book, 9);
    time.run([&](int rank) {
        for (int i = 0; i < 2; ++i) {
            book.add("rank " + std::to_string(rank));
            time.sleep(rank, time.now() + (rank == 0 ? 3ms : 2ms));
        }
    });
    CHECK(book.lines == std::vector<std::string>{"0 rank 0", "0 rank 1", "0 rank 2", "1 event 9",
                                                 "2 event 7", "2 event 3", "2 rank 1", "2 rank 2",
                                                 "3 rank 0"});
}

TEST_CASE("who is woken goes on at once, and its own time passes unnoticed") {
    virtual_time time(2);
    std::vector<std::int64_t> woke;
    const time_point start = time.now();
    time.run([&](int rank) {
        if (rank == 0) {
            time.sleep(0, start + 10ms);
            woke.push_back((time.now() - start) / 1ms);
            time.sleep(0, start + 30ms);
            woke.push_back((time.now() - start) / 1ms);
        } else {
            time.sleep(1, start + 4ms);
            time.wake(0);
        }
    });
    CHECK(woke == std::vector<std::int64_t>{4, 30});
}

TEST_CASE("who works is not woken") {
    virtual_time time(2);
    const time_point start = time.now();
    duration worked{};
    time.run([&](int rank) {
        if (rank == 0) {
            time.work(0, start + 10ms);
            worked = time.now() - start;
        } else {
            time.sleep(1, start + 4ms);
            time.wake(0);
        }
    });
    CHECK(worked == 10ms);
}

TEST_CASE("a rank that is frozen goes on when it thaws") {
    virtual_time time(2);
    const time_point start = time.now();
    duration woke{};
    time.run([&](int rank) {
        if (rank == 0) {
            time.sleep(0, start + 5ms);
            woke = time.now() - start;
        } else {
            time.freeze(0, start + 50ms);
            time.sleep(1, start + 6ms);
            time.wake(0);
        }
    });
    CHECK(woke == 50ms);
}

TEST_CASE("a rank that is killed unwinds at its next call, and others go on") {
    virtual_time time(2);
    const time_point start = time.now();
    bool unwound = false, ended = false;
    time.run([&](int rank) {
        if (rank == 0) {
            try {
                time.work(0, start + 1s);
                FAIL("it was killed");
            } catch (const killed&) {
                CHECK(time.now() == start + 3ms);
                time.sleep(0, time.now() + 1s);  // nothing to wait for any more
                CHECK(time.now() == start + 3ms);
                unwound = true;
            }
        } else {
            time.sleep(1, start + 3ms);
            time.kill(0);
            time.sleep(1, start + 5ms);
            ended = true;
        }
    });
    CHECK(unwound);
    CHECK(ended);
}

TEST_CASE("a rank that is killed while it is frozen unwinds at once, also if it had been woken") {
    virtual_time time(2);
    const time_point start = time.now();
    time.run([&](int rank) {
        if (rank == 0) {
            CHECK_THROWS_AS(time.sleep(0, start + 1s), killed);
            CHECK(time.now() == start + 5ms);
        } else {
            time.freeze(0, start + 50ms);
            time.sleep(1, start + 2ms);
            time.wake(0);
            time.sleep(1, start + 5ms);
            time.kill(0);
        }
    });
}
