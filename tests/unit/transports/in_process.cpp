#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/transports/in_process.hpp"
#include "sotto/transports/detail/in_process/in_process_hub.hpp"
#include "sotto/transports/detail/in_process/in_process_mailbox.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/allocation_count.hpp"
#include "support/failing_calls.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

void yield_at_random() {
    static std::atomic<std::uint64_t> threads = 0;
    thread_local random_stream random(++threads);
    for (auto times = random.below(4); times > 0; --times) std::this_thread::yield();
}

std::span<std::byte> memory_of(std::int64_t& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

TEST_CASE("a rank that is not of the hub, and a vote among others, are refused") {
    detail::in_process_hub hub(2, {});
    CHECK_THROWS_WITH_AS(in_process(hub, 2), "in_process: rank 2 in a hub of 2", invalid_option);
    CHECK_THROWS_AS(in_process(hub, -1), invalid_option);
    in_process first(hub, 0);
    const std::array others{1};
    CHECK_THROWS_WITH_AS(first.agree(first.open_ballot(others, 7), true),
                         "in_process: rank 0 votes in a ballot that it is not a member of",
                         invalid_option);
}

TEST_CASE("a deadline names the rank waited for, the one who waited and the job_phase") {
    std::atomic<bool> noticed = false;
    try {
        run_in_process(2, {.timeout = 20ms}, [&](in_process& t) {
            t.at({1, 7, "receive"});
            if (t.rank() == 1) {
                while (!noticed) std::this_thread::yield();
                return;
            }
            std::int64_t value = 0;
            try {
                t.wait(t.receive(1, {4, 5, 6}, memory_of(value)));
            } catch (const peer_failure& e) {
                CHECK(e.code() == errc::timed_out);
                CHECK(e.rank() == 1);
                CHECK(e.cause() ==
                      "it was late: rank 0 waited 0.02 s for a message (channel 4, item 5, round "
                      "6); in_process_options::timeout sets the limit");
                CHECK(e.when().round == 7);
                noticed = true;
                throw;
            }
        });
        FAIL("no deadline");
    } catch (const peer_failure& e) {
        CHECK(e.rank() == 1);
    }
}

TEST_CASE("who is late is the one at the end of the chain, not one that waits itself") {
    const auto blamed = [](std::initializer_list<int> waits_for, int waiter, int rank) {
        detail::in_process_hub hub(static_cast<int>(waits_for.size()), {});
        int r = 0;
        for (const int other : waits_for) hub.box(r++).waits_for = other;
        hub.fail_as_late(waiter, rank, "a message");
        CHECK(hub.first_failure().code == errc::timed_out);
        return hub.first_failure().rank;
    };
    constexpr int works = detail::local::waits_for_no_rank;
    CHECK(blamed({1, works}, 0, 1) == 1);
    CHECK(blamed({1, 2, 3, works}, 0, 1) == 3);
    CHECK(blamed({1, 2, any_rank, works}, 0, 1) == 2);
    CHECK(blamed({1, 2, 0}, 0, 1) == 1);  // a circle: whom this one waits for
    CHECK(blamed({1, 2, 1}, 0, 1) == 1);  // a circle of others
    CHECK(blamed({any_rank, 0, works}, 0, any_rank) ==
          2);  // of all that it might have heard from, who is at work
    CHECK(blamed({any_rank, any_rank}, 0, any_rank) == 1);
    CHECK(blamed({0}, 0, 0) == 0);
}

TEST_CASE("all ranks learn of a deadline that one of them met") {
    std::atomic<int> told = 0;
    const auto wait_in_vain = [&](in_process& t) {
        std::int64_t value = 0;
        try {
            switch (t.rank()) {
                case 0: t.agree(true); break;
                case 1: t.wait(t.receive(2, {}, memory_of(value))); break;
                case 2:
                    (void)t.receive(3, {}, memory_of(value));
                    while (true) t.await(t.activity());
                default:
                    while (told < 3) std::this_thread::yield();
                    t.agree(true);
            }
        } catch (const peer_failure& e) {
            CHECK(e.code() == errc::timed_out);
            ++told;
            throw;
        }
    };
    CHECK_THROWS_AS(run_in_process(4, {.timeout = 20ms}, wait_in_vain), peer_failure);
    CHECK(told == 4);
}

TEST_CASE("run_in_process: no thread left -> the error names the rank, the others end") {
    if (!support::failing_calls::works) return;
    const support::failing_calls second(1);
    std::string text;
    try {
        run_in_process(4, [](in_process& t) { t.agree(true); });
    } catch (const io_failure& e) {
        text = e.what();
    }
    CHECK(text.starts_with("run_in_process: the thread of rank 2 of 4 cannot be started: "));
}

TEST_CASE("ranks that wait for each other in a circle end by the deadline") {
    CHECK_THROWS_AS(run_in_process(3, {.timeout = 20ms},
                                   [&](in_process& t) {
                                       std::int64_t value = 0;
                                       t.wait(t.receive((t.rank() + 1) % 3, {}, memory_of(value)));
                                   }),
                    peer_failure);
    CHECK_THROWS_AS(run_in_process(2, {.timeout = 20ms},
                                   [&](in_process& t) {
                                       std::int64_t value = 0;
                                       t.wait(t.receive(any_rank, {}, memory_of(value)));
                                   }),
                    peer_failure);
    CHECK_THROWS_AS(
        run_in_process(1, {.timeout = 20ms}, [&](in_process& t) { t.wait(t.send(0, {}, {})); }),
        peer_failure);
}

TEST_CASE("a vote is all or nothing, whenever a rank fails") {
    for (int trial = 0; trial < 200; ++trial) {
        constexpr int size = 5;
        std::array<std::int64_t, size> verdicts{};
        try {
            run_in_process(size, {.disturb = yield_at_random}, [&](in_process& t) {
                for (int round = 0; round < 20; ++round) {
                    if (t.rank() == trial % size && round == trial % 19)
                        throw std::domain_error("gone");
                    t.agree(true);
                    ++verdicts[static_cast<std::size_t>(t.rank())];
                }
            });
            FAIL("nobody failed");
        } catch (const std::domain_error&) {
            for (const std::int64_t n : verdicts) CHECK(n == trial % 19);
        }
    }
}

TEST_CASE("the verdict of a complete vote reaches everybody, even if a rank fails right after") {
    for (int trial = 0; trial < 200; ++trial) {
        std::atomic<int> informed = 0;
        CHECK_THROWS_AS(run_in_process(4, {.disturb = yield_at_random},
                                       [&](in_process& t) {
                                           CHECK(t.agree(true));
                                           ++informed;
                                           if (t.rank() == trial % 4)
                                               throw std::domain_error("gone");
                                           t.agree(true);
                                       }),
                        std::domain_error);
        CHECK(informed == 4);
    }
}

TEST_CASE("ballots of some ranks are apart from each other and from the vote of all") {
    run_in_process(4, [&](in_process& t) {
        const std::array<int, 2> even{0, 2}, odd{1, 3};
        auto& pair = t.open_ballot(t.rank() % 2 == 0 ? even : odd, 1);
        for (int round = 0; round < 50; ++round) {
            CHECK(t.agree(pair, t.rank() % 2 == 0) == (t.rank() % 2 == 0));
            CHECK(t.agree(round % 2 == 0) == (round % 2 == 0));
        }
    });
}

TEST_CASE("of several failures all ranks see the same one") {
    for (int trial = 0; trial < 100; ++trial) {
        std::array<std::atomic<int>, 5> named{};
        int rethrown = -1;
        try {
            run_in_process(5, {.disturb = yield_at_random}, [&](in_process& t) {
                t.agree(true);
                if (t.rank() >= 3) throw t.rank();
                std::int64_t value = 0;
                try {
                    t.wait(t.receive(3 + t.rank() % 2, {}, memory_of(value)));
                } catch (const peer_failure& e) {
                    ++named[static_cast<std::size_t>(e.rank())];
                    throw;
                }
            });
        } catch (int rank) {
            rethrown = rank;
        }
        REQUIRE((rethrown == 3 || rethrown == 4));
        CHECK(named[static_cast<std::size_t>(rethrown)] == 3);
    }
}

TEST_CASE("what a rank throws arrives as it was, and its text is the cause") {
    std::string cause;
    try {
        run_in_process(2, [&](in_process& t) {
            if (t.rank() == 1) throw 42;
            try {
                t.wait(t.receive(1, {}, {}));
            } catch (const peer_failure& e) {
                cause = e.cause();
                throw;
            }
        });
        FAIL("the exception was lost");
    } catch (int value) {
        CHECK(value == 42);
    }
    CHECK(cause ==
          "an exception of type int was thrown; expected a std::exception, whose what() names the "
          "cause");
}

TEST_CASE("rank 0 runs on the calling thread and every other rank on its own") {
    std::array<std::thread::id, 4> threads;
    run_in_process(4, [&](in_process& t) {
        threads[static_cast<std::size_t>(t.rank())] = std::this_thread::get_id();
    });
    CHECK(threads[0] == std::this_thread::get_id());
}

TEST_CASE("memory goes only when no other rank copies from it or to it") {
    // Each rank unwinds while others are in the middle of messages with it: a sanitizer sees who is
    // late.
    for (int trial = 0; trial < 30; ++trial)
        CHECK_THROWS_AS(
            run_in_process(4, {.disturb = yield_at_random},
                           [&](in_process& t) {
                               for (int round = 0;; ++round) {
                                   std::vector<std::byte> out(20000, std::byte(round)),
                                       in(4 * 20000);
                                   std::vector<request> requests;
                                   for (int peer = 0; peer < t.size(); ++peer) {
                                       requests.push_back(t.send(peer, {}, out));
                                       const auto from = 20000 * static_cast<std::size_t>(peer);
                                       requests.push_back(
                                           t.receive(peer, {}, std::span(in).subspan(from, 20000)));
                                   }
                                   if (t.rank() == trial % 4 && round == trial / 4) {
                                       t.withdraw();
                                       throw std::domain_error("gone");
                                   }
                                   for (const request r : requests) t.wait(r);
                               }
                           }),
            std::domain_error);
}

TEST_CASE("many messages of random tags, sizes and order all arrive where they belong") {
    constexpr int size = 4, messages = 300;
    run_in_process(size, {.transfers = 2, .disturb = yield_at_random}, [&](in_process& t) {
        struct pending {
            request handle;
            int peer;
            std::uint32_t item;
            std::vector<std::byte> memory;
        };
        // From every rank to every rank the same list of items; each end goes through it in an
        // order of its own.
        const auto length = [](int from, int to, std::uint32_t item) {
            return (static_cast<std::size_t>(from) * 7 + static_cast<std::size_t>(to) * 13 +
                    item * 29) %
                   500;
        };
        const auto content = [](int from, int to, std::uint32_t item) {
            return std::byte(static_cast<unsigned>(from * 31 + to * 17) + item);
        };
        std::vector<std::uint32_t> order(size * messages);
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
        random_stream random(static_cast<std::uint64_t>(t.rank()));
        std::vector<pending> sends, receives;
        for (auto* list : {&sends, &receives}) {
            for (std::size_t i = order.size(); i > 1; --i)
                std::swap(order[i - 1], order[random.below(i)]);
            for (const std::uint32_t i : order)
                list->push_back({{}, static_cast<int>(i % size), i / size, {}});
        }
        for (std::size_t i = 0; i < sends.size(); ++i) {
            pending& s = sends[i];
            s.memory.assign(length(t.rank(), s.peer, s.item), content(t.rank(), s.peer, s.item));
            s.handle = t.send(s.peer, {0, s.item, 0}, s.memory);
            pending& r = receives[i];
            r.memory.resize(500);
            r.handle = t.receive(r.peer, {0, r.item, 0}, r.memory);
        }
        for (pending& r : receives) {
            const completion ended = t.wait(r.handle);
            CHECK(ended.source == r.peer);
            CHECK(ended.bytes == static_cast<std::int64_t>(length(r.peer, t.rank(), r.item)));
            r.memory.resize(static_cast<std::size_t>(ended.bytes));
            CHECK(r.memory ==
                  std::vector<std::byte>(r.memory.size(), content(r.peer, t.rank(), r.item)));
        }
        for (pending& s : sends) t.wait(s.handle);
        CHECK(t.counters().messages_sent == size * messages);
        CHECK(t.counters().messages_received == size * messages);
    });
}

TEST_CASE("nothing is allocated once there was room for all transfers") {
    if (!support::allocation_count::works) return;
    run_in_process(3, [&](in_process& t) {
        std::vector<std::int64_t> in(100), out(100);
        std::vector<request> requests(200);
        const auto round = [&] {
            for (std::size_t i = 0; i < 100; ++i) {
                const tag label{0, static_cast<std::uint32_t>(i), 0};
                requests[2 * i] = t.receive((t.rank() + 1) % 3, label, memory_of(in[i]));
                requests[2 * i + 1] = t.send((t.rank() + 2) % 3, label, memory_of(out[i]));
            }
            for (const request r : requests) t.wait(r);
            t.agree(true);
        };
        round();
        const support::allocation_count taken;
        for (int i = 0; i < 10; ++i) round();
        const std::int64_t count = taken.on_this_thread();
        CHECK(count == 0);
    });
}

TEST_CASE("options that cannot work are refused with the value given") {
    const auto nothing = [](in_process&) {};
    CHECK_THROWS_WITH_AS(run_in_process(0, nothing),
                         "in_process: 0 workers; there must be at least 1", invalid_option);
    CHECK_THROWS_AS(run_in_process(1, {.timeout = 0s}, nothing), invalid_option);
    CHECK_THROWS_AS(run_in_process(1, {.transfers = -1}, nothing), invalid_option);
    CHECK_THROWS_AS(run_in_process(1, [](in_process& t) { t.reserve(-1); }), invalid_option);
}

TEST_CASE("a very long timeout is a deadline too") {
    run_in_process(2, {.timeout = duration::max()}, [&](in_process& t) {
        std::int64_t value = t.rank();
        if (t.rank() == 0)
            t.wait(t.send(1, {}, memory_of(value)));
        else
            t.wait(t.receive(0, {}, memory_of(value)));
        CHECK(value == 0);
    });
}

TEST_CASE("to await what nothing can bring is refused") {
    CHECK_THROWS_AS(run_in_process(1, [](in_process& t) { t.await(t.activity()); }),
                    std::logic_error);
}
