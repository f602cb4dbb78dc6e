#include "sotto/transports/detail/simulated/virtual_time.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
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

TEST_CASE("work that is interrupted by freezing ends later by as long as that lasts") {
    // Frozen at 2 ms until 10 ms; overlaps count once; and once more, until 30 ms.
    const std::pair<std::vector<std::pair<duration, duration>>, duration> cases[] = {
        {{{2ms, 10ms}}, 108ms},
        {{{2ms, 10ms}, {5ms, 7ms}, {6ms, 12ms}}, 110ms},
        {{{2ms, 10ms}, {20ms, 30ms}}, 118ms},
        {{{99ms, 300ms}}, 301ms}};
    for (const auto& [frozen, ends] : cases) {
        virtual_time time(2);
        const time_point start = time.now();
        duration worked{};
        time.run([&, &frozen = frozen](int rank) {
            if (rank == 0) {
                time.work(0, start + 100ms);
                worked = time.now() - start;
                return;
            }
            for (const auto& [from, until] : frozen) {
                time.sleep(1, start + from);
                time.freeze(0, start + until);
            }
        });
        CHECK(worked == ends);
    }
}

TEST_CASE("where all sleep for ever, who sleeps last is told, and the others may be woken") {
    virtual_time time(2);
    bool woke = false;
    time.run([&](int rank) {
        if (rank == 0) {
            time.sleep(0, time_point::max());
            woke = true;
            return;
        }
        CHECK_THROWS_WITH_AS(time.sleep(1, time_point::max()),
                             "simulated: all ranks sleep, and nothing will wake one",
                             std::logic_error);
        time.wake(0);
    });
    CHECK(woke);
}

TEST_CASE("where a rank ends and all others sleep for ever, these unwind, and the run throws") {
    virtual_time time(3);
    int unwound = 0;
    const auto run = [&] {
        time.run([&](int rank) {
            if (rank == 2) return;
            try {
                time.sleep(rank, time_point::max());
            } catch (const killed&) {
                ++unwound;
            }
        });
    };
    CHECK_THROWS_WITH_AS(run(), "simulated: all ranks sleep, and nothing will wake one",
                         std::logic_error);
    CHECK(unwound == 2);
}

TEST_CASE("what a happening throws while a rank goes to sleep is thrown there, and it may end") {
    class failing final : public happening {
        void happen(std::uint64_t) override { throw std::domain_error("it cannot happen"); }
    } failing;
    virtual_time time(2);
    time.tell(time.now() + 1ms, failing, 0);
    int ended = 0;
    time.run([&](int rank) {
        if (rank == 0)
            time.sleep(0, time.now() + 9ms);
        else
            CHECK_THROWS_AS(time.sleep(1, time.now() + 5ms), std::domain_error);
        ++ended;
    });
    CHECK(ended == 2);
}

TEST_CASE("what a happening throws while no rank runs is thrown by the run") {
    class failing final : public happening {
        void happen(std::uint64_t) override { throw std::domain_error("it cannot happen"); }
    } failing;
    virtual_time time(2);
    time.tell(time.now() + 1ms, failing, 0);
    const auto run = [&] {
        time.run([&](int rank) {
            if (rank == 0) CHECK_THROWS_AS(time.sleep(0, time.now() + 5ms), killed);
        });
    };
    CHECK_THROWS_WITH_AS(run(), "it cannot happen", std::domain_error);
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
