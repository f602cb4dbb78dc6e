#include "sotto/transports/run_simulated.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

/// 1 MB/s and 1 ms from rank to rank.
simulated_options slow_line() {
    simulated_options options;
    options.line = {.out = 1e6, .in = 1e6, .latency = 500us};
    return options;
}

/// Lets the simulated time pass until then.
void work_until(simulated& t, duration end) {
    const double left = in_seconds(time_point{} + end - t.now());
    if (left > 0.0) t.charge({.flops = left * 50e9});
}

void say(simulated& t, int to, std::int32_t value) {
    t.wait(t.send(to, {1, 0, 0}, std::as_bytes(std::span(&value, 1))));
}

/// What rank 0 hears until then: values from anybody, and who went and came.
std::vector<std::string> heard_until(simulated& t, duration end) {
    std::vector<std::string> heard;
    std::int32_t value = 0;
    const auto memory = std::as_writable_bytes(std::span(&value, 1));
    auto due = t.receive(any_rank, {1, 0, 0}, memory);
    while (t.now() < time_point{} + end) {
        while (const auto change = t.next_change())
            heard.push_back(std::to_string(change->rank) +
                            (change->is_here ? " came" : " went: " + change->cause));
        while (const auto ended = t.poll(due)) {
            heard.push_back(std::to_string(ended->source) + " says " + std::to_string(value));
            due = t.receive(any_rank, {1, 0, 0}, memory);
        }
        work_until(t, std::min<duration>(end, t.now() - time_point{} + 10ms));
    }
    return heard;
}

using lines = std::vector<std::string>;

/// All ranks send to all others, and receive or not; for so many rounds.
void talk(simulated& t, std::uint64_t rounds, bool receives = true) {
    std::vector<std::byte> out(40'000), in(40'000);
    for (std::uint64_t round = 0; round < rounds; ++round)
        for (int step = 1; step < t.size(); ++step) {
            const request sent = t.send((t.rank() + step) % t.size(), {1, 0, round}, out);
            if (receives)
                t.wait(t.receive((t.rank() + t.size() - step) % t.size(), {1, 0, round}, in));
            t.wait(sent);
        }
}

}  // namespace

TEST_CASE("a process may end while it withdraws in the midst of a message") {
    for (const duration dies : {5ms, 40ms, 200ms, 900ms}) {
        simulated_options options = slow_line();
        options.faults = {network_fault::crash(0, dies)};
        const detail::simulated_run run = simulate(2, options, [](simulated& t) {
            std::vector<std::byte> memory(1'000'000);
            if (t.rank() == 0) {
                const request sent = t.send(1, {1, 0, 0}, memory);
                t.charge({.flops = 50e6});  // 1 ms
                (void)t.poll(sent);
                throw std::domain_error("disk on fire");
            }
            t.wait(t.receive(0, {1, 0, 0}, memory));
        });
        for (const auto& ending : run.ranks) CHECK(ending.thrown);
        CHECK(run.took < 1s);
    }
}

TEST_CASE("what was sent is copied: who fails does not wait for its line to be free") {
    const detail::simulated_run run = simulate(2, slow_line(), [](simulated& t) {
        std::vector<std::byte> memory(1'000'000);
        if (t.rank() == 0) {
            (void)t.send(1, {1, 0, 0}, memory);
            throw std::domain_error("disk on fire");
        }
        t.wait(t.receive(0, {1, 0, 0}, memory));
    });
    CHECK(run.ranks[0].at == 0ms);
    CHECK_THROWS_AS(std::rethrow_exception(run.ranks[1].thrown), peer_failure);
}

TEST_CASE("a packet whose last byte had not left when its process died never arrives") {
    // 60,064 bytes leave until 60.06 ms; the first of them arrive after 1 ms.
    for (const duration dies : {30ms, 59ms, 70ms}) {
        simulated_options options = slow_line();
        options.faults = {network_fault::crash(0, dies)};
        std::int64_t arrived = 0;
        simulate(
            2, options,
            [](simulated& t) {
                t.tolerate();
                std::vector<std::byte> memory(60'000);
                if (t.rank() == 0) {
                    (void)t.send(1, {1, 0, 0}, memory);
                    t.charge({.flops = 1e12});
                }
                try {
                    t.wait(t.receive(0, {1, 0, 0}, memory));
                    CHECK(t.now() > time_point{} + 60ms);
                } catch (const peer_failure& e) {
                    CHECK(e.rank() == 0);
                }
                work_until(t, 200ms);
            },
            [&](const detail::simulated_event& e) {
                arrived += e.what == detail::simulated_event::kind::arrived && e.size > 8000;
            });
        CHECK(arrived == (dies == 70ms ? 1 : 0));
    }
}

TEST_CASE("a process that is started again hears nothing of what was meant for the one before") {
    // Packets, losses and arrivals wait for rank 1, which pauses, when it dies.
    simulated_options options;
    options.faults = {network_fault::pause(1, 400ms, 10s), network_fault::crash(2, 500ms),
                      network_fault::restart(2, 600ms),    network_fault::cut(1, 3, 700ms),
                      network_fault::crash(1, 1s),         network_fault::restart(1, 2s)};
    lines heard;
    const detail::simulated_run run = simulate(4, options, [&](simulated& t) {
        t.tolerate();
        std::int32_t value = 7;
        if (t.rank() == 0) {
            work_until(t, 450ms);
            for (std::uint64_t i = 0; i < 5; ++i) {
                t.wait(t.send(1, {2, 0, i}, std::as_bytes(std::span(&value, 1))));
                work_until(t, t.now() - time_point{} + 10ms);
            }
            heard = heard_until(t, 4s);
        } else if (t.rank() == 1 && t.life() == 1) {
            t.wait(t.receive(0, {9, 0, 0}, std::as_writable_bytes(std::span(&value, 1))));
        } else if (t.rank() == 1) {
            for (int i = 0; i < 3; ++i) say(t, 0, i);
            work_until(t, 3s);
            CHECK_FALSE(t.next_change());
        }
        work_until(t, 5s);
    });
    run.require_success();
    std::erase_if(heard, [](const std::string& line) { return line[0] != '1'; });
    CHECK(heard ==
          lines{"1 went: its process ended", "1 came", "1 says 0", "1 says 1", "1 says 2"});
}

TEST_CASE("connections that broke are whole between processes that come later") {
    for (const network_fault& harm :
         {network_fault::cut(0, 1, 500ms), network_fault::truncate(1, 0, 500ms)}) {
        CAPTURE(describe(harm));
        simulated_options options;
        options.faults = {harm, network_fault::crash(1, 1s), network_fault::restart(1, 2s)};
        lines heard;
        const detail::simulated_run run = simulate(2, options, [&](simulated& t) {
            t.tolerate();
            if (t.rank() == 0) {
                heard = heard_until(t, 4s);
                return;
            }
            if (t.life() == 1)
                while (true) t.charge({.flops = 1e10});
            for (int i = 0; i < 3; ++i) say(t, 0, i);
            work_until(t, 3s);
            CHECK_FALSE(t.next_change());
            work_until(t, 5s);
        });
        run.require_success();
        CHECK(heard ==
              lines{"1 went: the connection broke", "1 came", "1 says 0", "1 says 1", "1 says 2"});
    }
}

TEST_CASE("processes that come again at nearly the same time do not take each other for another") {
    // Before the one hears that the other came, and after.
    for (const duration later : {0us, 30us, 60us, 99us, 101us, 150us, 1000us}) {
        CAPTURE(later.count());
        simulated_options options;
        options.faults = {network_fault::crash(1, 1s), network_fault::crash(2, 1s),
                          network_fault::restart(1, 2s), network_fault::restart(2, 2s + later)};
        std::vector<std::string> causes;
        std::int64_t said = 0;
        const detail::simulated_run run = simulate(3, options, [&](simulated& t) {
            t.tolerate();
            if (t.rank() == 0 || t.life() == 1) return work_until(t, 5s);
            std::int32_t in = 0;
            const auto memory = std::as_writable_bytes(std::span(&in, 1));
            auto due = t.receive(any_rank, {1, 0, 0}, memory);
            bool is_here = true;
            while (t.now() < time_point{} + 3s) {
                if (is_here) {
                    try {
                        say(t, 3 - t.rank(), 7);
                    } catch (const peer_failure&) {}
                }
                work_until(t, t.now() - time_point{} + 20us);
                while (t.poll(due)) {
                    ++said;
                    due = t.receive(any_rank, {1, 0, 0}, memory);
                }
                while (const auto change = t.next_change()) {
                    is_here = change->is_here;
                    if (!is_here) causes.push_back(change->cause);
                }
                if (said > 200) break;
            }
            work_until(t, 5s);
        });
        run.require_success();
        CHECK(said > 200);
        for (const std::string& cause : causes)
            CHECK((cause == "another process took its place" || cause == "it left: it is done"));
    }
}

TEST_CASE("a rank that dies while it pauses is gone at once, and may come again") {
    for (const bool is_woken : {false, true}) {
        CAPTURE(is_woken);
        simulated_options options;
        options.faults = {network_fault::pause(1, 100ms, 10s), network_fault::crash(1, 1s),
                          network_fault::restart(1, 2s)};
        lines heard;
        const detail::simulated_run run = simulate(2, options, [&](simulated& t) {
            t.tolerate();
            std::int32_t value = 7;
            if (t.rank() == 0) {
                work_until(t, 500ms);
                if (is_woken) say(t, 1, value);
                heard = heard_until(t, 7s);
                return;
            }
            if (t.life() == 1)
                t.wait(t.receive(0, {5, 0, 0}, std::as_writable_bytes(std::span(&value, 1))));
            CHECK(t.now() == time_point{} + 2s);
            say(t, 0, 1);
            work_until(t, 8s);  // longer than dead_after: it says that it lives
        });
        run.require_success();
        CHECK(run.ranks[1].at == 8s);
        CHECK(heard == lines{"1 went: its process ended", "1 came", "1 says 1"});
    }
}

TEST_CASE("what a process says that came while another rank paused is heard") {
    // The first was not missed yet: what it had sent is read before the next one is.
    simulated_options options;
    options.faults = {network_fault::power_loss(1, 1s), network_fault::pause(0, 1500ms, 1s),
                      network_fault::restart(1, 2s)};
    lines heard;
    simulate(2, options, [&](simulated& t) {
        t.tolerate();
        if (t.rank() == 0) {
            heard = heard_until(t, 4s);
            return;
        }
        if (t.life() == 1) work_until(t, 1400ms);
        say(t, 0, 7);
        work_until(t, 5s);
    }).require_success();
    CHECK(heard == lines{"1 went: another process took its place", "1 came", "1 says 7"});
}

TEST_CASE("a rank whose process ends before it began never runs, unless it is started again") {
    for (const bool comes : {false, true})
        for (const duration latency : {0us, 50us}) {
            CAPTURE(comes);
            CAPTURE(latency.count());
            simulated_options options;
            options.line.latency = latency;
            options.faults = {network_fault::crash(1, 0s)};
            if (comes) options.faults.push_back(network_fault::restart(1, 1s));
            lines heard;
            const detail::simulated_run run = simulate(2, options, [&](simulated& t) {
                t.tolerate();
                if (t.rank() == 0) {
                    heard = heard_until(t, 3s);
                    return;
                }
                CHECK(t.life() == 2);
                say(t, 0, 1);
                work_until(t, 4s);
            });
            run.require_success();
            CHECK(run.ranks[1].killed == !comes);
            CHECK(run.ranks[1].at == (comes ? 4s : 0s));
            lines expected{"1 went: its process ended"};
            if (comes) expected.insert(expected.end(), {"1 came", "1 says 1"});
            CHECK(heard == expected);
        }
}

TEST_CASE("options that no rank could work with are refused before any begins") {
    const auto refused = [](const simulated_options& options, const std::string& why) {
        CAPTURE(why);
        try {
            simulate(2, options, [](simulated&) { FAIL("it began"); });
            FAIL("it was not refused");
        } catch (const invalid_option& e) {
            const std::string what = e.what();
            CAPTURE(what);
            CHECK(what.find(why) != std::string::npos);
        }
    };
    refused({.budget = 65535}, "simulated: budget is 65535 bytes; it must be at least 65536");
    refused({.transfers = -1}, "simulated: room for -1 transfers; it must be at least 0");
    refused({.faults = {network_fault::pause(1, 1s, -1s)}},
            "simulated: the fault 'pause at 1.000000 s of rank 1 for -1.000000 s' lasts or "
            "delays for less than "
            "no time");
    refused({.faults = {network_fault::delay(0, 1, 1s, 1s, -1s)}}, "less than no time");
    CHECK_THROWS_WITH_AS(simulate(30001, {}, [](simulated&) {}),
                         "simulated: 30001 ranks; 1 to 30000 are possible", invalid_option);
}

TEST_CASE("nothing is left of a run in which no rank failed: no timer, transfer or packet") {
    for (const std::uint64_t rounds : {0u, 1u, 20u}) {
        simulated_options options;
        options.faults = {network_fault::delay(0, 1, 1us, 1s, 10ms),
                          network_fault::partition(1, 2, 1us, 100ms),
                          network_fault::pause(1, 50ms, 100ms)};
        const detail::simulated_run run = run_simulated(4, options, [&](simulated& t) {
            talk(t, rounds);
            t.agree(true);
        });
        CHECK(run.left == detail::simulated_run::leavings{});
        CHECK(run.packets_at_once > 0);
    }
}

TEST_CASE("transfers that a rank began and left alone are counted when it ends") {
    const detail::simulated_run run = simulate(2, {}, [](simulated& t) {
        std::int32_t value = 7;
        const auto memory = std::as_writable_bytes(std::span(&value, 1));
        if (t.rank() == 0) (void)t.receive(1, {1, 0, 0}, memory);
        t.agree(true);
    });
    CHECK(run.left == detail::simulated_run::leavings{.transfers = 1});
}

TEST_CASE("what waits for its receive can be read, and stays within the budget") {
    simulated_options options;
    options.budget = 100'000;
    std::int64_t most = 0;
    const detail::simulated_run run = run_simulated(3, options, [&](simulated& t) {
        std::vector<std::byte> memory(30'000);
        if (t.rank() == 0) {
            work_until(t, 100ms);
            for (std::uint64_t i = 0; i < 20; ++i)
                for (const int from : {2, 1}) {
                    t.wait(t.receive(from, {1, 0, i}, memory));
                    for (const int peer : {1, 2}) {
                        CHECK(t.queued_bytes(peer) <= options.budget);
                        most = std::max(most, t.queued_bytes(peer));
                    }
                }
            CHECK(t.queued_bytes(1) == 0);
            CHECK(t.queued_bytes(2) == 0);
        } else {
            std::vector<request> sent;
            for (std::uint64_t i = 0; i < 20; ++i) sent.push_back(t.send(0, {1, 0, i}, memory));
            for (const request r : sent) t.wait(r);
        }
        t.agree(true);
    });
    CHECK(most == 90'000);  // three messages of a rank, and what is kept of them
    CHECK(run.left == detail::simulated_run::leavings{});
}

TEST_CASE("packets that nobody receives any more give back their memory") {
    // Ranks end while they send, while packets come twice and connections break; and again.
    const auto run_of = [](int times) {
        simulated_options options = slow_line();
        options.line.out = options.line.in = 1e7;
        for (int i = 0; i < times; ++i) {
            const duration at = i * 200ms;
            for (const auto& f :
                 {network_fault::duplicate(1, 0, at + 20ms), network_fault::duplicate(0, 2, at),
                  network_fault::cut(0, 2, at + 42ms), network_fault::truncate(2, 1, at + 45ms),
                  network_fault::crash(1, at + 50ms), network_fault::power_loss(2, at + 60ms),
                  network_fault::restart(1, at + 100ms), network_fault::restart(2, at + 110ms)})
                options.faults.push_back(f);
        }
        return simulate(3, options, [&](simulated& t) {
            t.tolerate();
            while (t.now() < time_point{} + times * 200ms) {
                try {
                    talk(t, 1, t.rank() != 0);
                } catch (const error&) {}
                while (t.next_change()) {}
                work_until(t, t.now() - time_point{} + 1ms);
            }
        });
    };
    const detail::simulated_run few = run_of(5), many = run_of(50);
    CHECK(few.left.packets == 0);
    CHECK(many.left.packets == 0);
    CHECK(many.packets_at_once <= 2 * few.packets_at_once);
}

TEST_CASE("a packet that was to come twice over a connection that broke gives back its memory") {
    simulated_options options = slow_line();
    options.faults = {network_fault::duplicate(0, 1, 1ms), network_fault::cut(0, 1, 10ms)};
    const detail::simulated_run run = simulate(2, options, [](simulated& t) {
        t.tolerate();
        const std::vector<std::byte> memory(100);
        work_until(t, 9500us);
        if (t.rank() == 0) (void)t.send(1, {1, 0, 0}, memory);
        work_until(t, 1s);
    });
    CHECK(run.left.packets == 0);
}
