#include "sotto/transports/tolerant_transport.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "sotto/transports/tcp.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

/// Rank 0 receives from anybody for 10 s, and writes down what it heard and from whom.
std::vector<std::string> heard_by_0(simulated& t) {
    std::vector<std::string> heard;
    t.tolerate();
    const time_point start = t.now();
    std::int32_t value = 0;
    auto due = t.receive(any_rank, {1, 0, 0}, std::as_writable_bytes(std::span(&value, 1)));
    while (t.now() - start < 10s) {
        const auto seen = t.activity();
        while (const auto change = t.next_change())
            heard.push_back(std::to_string(change->rank) + (change->is_here ? " came" : " went"));
        if (const auto ended = t.poll(due)) {
            heard.push_back(std::to_string(ended->source) + " says " + std::to_string(value));
            due = t.receive(any_rank, {1, 0, 0}, std::as_writable_bytes(std::span(&value, 1)));
        }
        if (t.activity() == seen) t.charge({.flops = 5e8});
    }
    return heard;
}

void say(simulated& t, std::int32_t value) {
    t.wait(t.send(0, {1, 0, 0}, std::as_bytes(std::span(&value, 1))));
}

}  // namespace

TEST_CASE("a rank that dies and comes again ends nobody else's work") {
    simulated_options options;
    options.faults = {network_fault::crash(1, 2s), network_fault::restart(1, 5s)};
    std::vector<std::string> heard;
    const simulated_run run = simulate(3, options, [&](simulated& t) {
        if (t.rank() == 0) {
            heard = heard_by_0(t);
            return;
        }
        t.tolerate();
        for (int i = 0; i < 4; ++i) {
            say(t, 100 * static_cast<std::int32_t>(t.life()) + i);
            t.charge({.flops = 7.5e10});  // 1.5 s
        }
        t.charge({.flops = 2e11});
    });
    run.require_success();
    std::vector<std::string> of_1;
    int of_2 = 0;
    for (const std::string& line : heard) {
        if (line[0] == '1') of_1.push_back(line);
        of_2 += line.rfind("2 says", 0) == 0;
    }
    CHECK(of_1 == std::vector<std::string>{"1 says 100", "1 says 101", "1 went", "1 came",
                                           "1 says 200", "1 says 201", "1 says 202", "1 says 203"});
    CHECK(of_2 == 4);
}

TEST_CASE("transfers with a rank that went end by its name; others go on") {
    simulated_options options;
    options.faults = {network_fault::crash(1, 1s)};
    simulate(3, options, [&](simulated& t) {
        std::vector<std::byte> memory(100), other(100);
        if (t.rank() == 1) t.charge({.flops = 1e12});
        t.tolerate();
        if (t.rank() == 2) {
            t.charge({.flops = 1.5e11});  // 3 s
            t.wait(t.send(0, {2, 0, 0}, memory));
            return;
        }
        const request from_1 = t.receive(1, {1, 0, 0}, memory);
        const request from_2 = t.receive(2, {2, 0, 0}, other);
        try {
            t.wait(from_1);
            FAIL("it went");
        } catch (const peer_failure& e) {
            CHECK(e.rank() == 1);
        }
        CHECK_THROWS_AS((void)t.send(1, {1, 0, 0}, memory), peer_failure);
        CHECK(t.wait(from_2).bytes == 100);
    }).require_success();
}

TEST_CASE("what came before a rank went can still be received") {
    simulated_options options;
    options.faults = {network_fault::crash(1, 1s)};
    simulate(2, options, [&](simulated& t) {
        std::int32_t value = 7;
        const auto memory = std::as_writable_bytes(std::span(&value, 1));
        t.tolerate();
        if (t.rank() == 1) {
            t.wait(t.send(0, {1, 0, 0}, memory));
            t.charge({.flops = 1e12});
        }
        t.charge({.flops = 1e11});  // 2 s
        value = 0;
        CHECK(t.wait(t.receive(any_rank, {1, 0, 0}, memory)).source == 1);
        CHECK(value == 7);
    }).require_success();
}

TEST_CASE("over TCP a rank that fails or leaves ends transfers with it alone") {
    for (const bool fails : {true, false}) {
        CAPTURE(fails);
        tcp_options options{.size = 3, .port = 0};
        tcp::meeting meeting(options);
        options.port = meeting.port();
        std::atomic<bool> is_over = false;
        const auto as = [&](int rank) {
            tcp_options own = options;
            own.rank = rank;
            return own;
        };
        const std::jthread first([&] {
            std::int32_t value = 7;
            try {
                tcp t = tcp::join(as(1));
                t.tolerate();
                t.agree(true);  // before anybody fails
                t.wait(t.send(0, {1, 0, 0}, std::as_bytes(std::span(&value, 1))));
                if (fails) throw std::domain_error("disk on fire");
            } catch (const std::domain_error&) {}
        });
        const std::jthread second([&] {
            std::vector<std::byte> memory(100);
            tcp t = tcp::join(as(2));
            t.tolerate();
            t.agree(true);
            t.wait(t.receive(0, {2, 0, 0}, memory));  // once rank 1 is gone
            t.wait(t.send(0, {2, 0, 0}, memory));
            while (!is_over) std::this_thread::yield();
        });
        tcp t = meeting.join();
        t.tolerate();
        t.agree(true);
        std::vector<std::byte> memory(100);
        const request never = t.receive(1, {3, 0, 0}, memory);
        try {
            t.wait(never);
            FAIL("nothing was sent");
        } catch (const peer_failure& e) {
            CHECK(e.rank() == 1);
        }
        const auto change = t.next_change();
        REQUIRE(change);
        CHECK(change->rank == 1);
        CHECK_FALSE(change->is_here);
        CHECK(change->left == !fails);
        CHECK(change->cause == (fails ? "an exception ended its work" : "it left: it is done"));
        CHECK_FALSE(t.next_change());
        // What it had sent is there, and the others go on.
        std::int32_t value = 0;
        CHECK(t.wait(t.receive(any_rank, {1, 0, 0}, std::as_writable_bytes(std::span(&value, 1))))
                  .source == 1);
        CHECK(value == 7);
        CHECK_THROWS_AS((void)t.send(1, {1, 0, 0}, memory), peer_failure);
        t.wait(t.send(2, {2, 0, 0}, memory));
        CHECK(t.wait(t.receive(2, {2, 0, 0}, memory)).bytes == 100);
        is_over = true;
    }
}
