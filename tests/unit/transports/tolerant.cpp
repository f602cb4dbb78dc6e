#include "sotto/transports/tolerant_transport.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "sotto/transports/tcp.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

/// Rank 0 receives from anybody for 10 s, and writes down what it heard and from whom. It listens
/// after every `busy`.
std::vector<std::string> heard_by_0(simulated& t, duration busy = 10ms) {
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
        if (t.activity() == seen) t.charge({.flops = 5e10 * in_seconds(busy)});
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
    const detail::simulated_run run = simulate(3, options, [&](simulated& t) {
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

TEST_CASE("what came before a rank went can still be received, however it went") {
    using faults = std::vector<network_fault>;
    for (const faults& harm :
         {faults{network_fault::crash(1, 1s)}, faults{},  // it leaves
          faults{network_fault::crash(1, 1s), network_fault::restart(1, 1500ms)},
          faults{network_fault::power_loss(1, 1s), network_fault::restart(1, 1500ms)}}) {
        for (const int from : {any_rank, 1}) {
            const bool leaves = harm.empty(), comes = harm.size() > 1;
            CAPTURE(leaves);
            CAPTURE(comes);
            CAPTURE(from);
            simulated_options options;
            options.faults = harm;
            simulate(2, options, [&](simulated& t) {
                std::int32_t value = t.life() == 1 ? 7 : 8;
                const auto memory = std::as_writable_bytes(std::span(&value, 1));
                t.tolerate();
                if (t.rank() == 1) {
                    say(t, value);
                    if (!leaves) t.charge({.flops = 2.5e11});
                    return;
                }
                t.charge({.flops = 1e11});  // 2 s
                value = 0;
                CHECK(t.wait(t.receive(from, {1, 0, 0}, memory)).source == 1);
                CHECK(value == 7);
                const auto went = t.next_change();
                REQUIRE(went);
                CHECK_FALSE(went->is_here);
                CHECK(went->left == leaves);
                const auto came = t.next_change();
                REQUIRE(came.has_value() == comes);
                if (!comes) return;
                CHECK(came->is_here);
                CHECK(t.wait(t.receive(from, {1, 0, 0}, memory)).source == 1);
                CHECK(value == 8);
                CHECK_FALSE(t.next_change());
            }).require_success();
        }
    }
}

TEST_CASE("what comes of a process after its end is known is not taken for its successor's") {
    // Rank 0 hears of the end, of what had been on its way and of the restart all at once.
    simulated_options options;
    options.faults = {network_fault::delay(1, 0, 0ms, 1s, 20ms), network_fault::crash(1, 1010ms),
                      network_fault::restart(1, 1040ms)};
    std::vector<std::string> heard;
    simulate(2, options, [&](simulated& t) {
        if (t.rank() == 0) {
            heard = heard_by_0(t, 100ms);
            return;
        }
        t.tolerate();
        if (t.life() == 1) t.charge({.flops = 4.995e10});  // 999 ms
        say(t, 100 * static_cast<std::int32_t>(t.life()));
        say(t, 100 * static_cast<std::int32_t>(t.life()) + 1);
        t.charge({.flops = 1e12});
    }).require_success();
    CHECK(heard == std::vector<std::string>{"1 went", "1 came", "1 says 200", "1 says 201"});
}

TEST_CASE(
    "a server whose receive a rank leaves half filled hears the ranks that waited meanwhile") {
    // The pushes take 80 ms each: rank 1 is killed in the midst of its own.
    simulated_options options;
    options.line = {.out = 12.5e6, .in = 12.5e6};
    options.timeout = 30s;
    for (const std::int64_t budget : {std::int64_t{65536}, std::int64_t{8} << 20}) {
        CAPTURE(budget);
        options.budget = budget;
        options.faults = {network_fault::crash(1, 40ms)};
        simulate(3, options, [&](simulated& t) {
            std::vector<std::byte> memory(1000000, std::byte(t.rank()));
            t.tolerate();
            if (t.rank() > 0) {
                t.charge({.flops = 5e7 * t.rank()});  // 1 ms each
                t.wait(t.send(0, {1, 0, 0}, memory));
                return;
            }
            CHECK(t.wait(t.receive(any_rank, {1, 0, 0}, memory)).source == 2);
            CHECK(memory == std::vector<std::byte>(memory.size(), std::byte{2}));
        }).require_success();
    }
}

TEST_CASE("a rank that lives and is waited for until the deadline is gone, and nobody else") {
    simulated_options options;
    options.timeout = 5s;
    simulate(3, options, [&](simulated& t) {
        std::vector<std::byte> memory(100);
        t.tolerate();
        if (t.rank() == 1) return t.charge({.flops = 5e11});  // 10 s
        if (t.rank() == 2) {
            t.charge({.flops = 3.5e11});  // 7 s
            t.wait(t.send(0, {2, 0, 0}, memory));
            return;
        }
        const request never = t.receive(1, {1, 0, 0}, memory);
        try {
            t.wait(never);
            FAIL("nothing was sent");
        } catch (const peer_failure& e) {
            CHECK(e.rank() == 1);
        }
        const auto change = t.next_change();
        REQUIRE(change);
        CHECK(change->rank == 1);
        CHECK(change->cause ==
              "it was late: rank 0 waited 5 s for a message (channel 1, item 0, round 0); "
              "simulated_options::timeout sets the limit");
        CHECK(t.wait(t.receive(2, {2, 0, 0}, memory)).bytes == 100);
        CHECK_FALSE(t.next_change());
        CHECK_THROWS_WITH_AS(
            t.wait(t.receive(any_rank, {3, 0, 0}, memory)),
            "simulated: rank 0 waited 5 s for a message (channel 3, item 0, round 0); "
            "simulated_options::timeout sets the limit",
            error);
    }).require_success();
}

TEST_CASE("who was given up while it lived is told so, and nothing of what it sends is heard") {
    // It pauses, or nothing of it comes, for longer than dead_after; or what comes of it from
    // 1000 ms on, when it says that it lives, is damaged.
    for (const network_fault& harm :
         {network_fault::pause(1, 1s, 4s), network_fault::partition(1, 0, 1s, 4s),
          network_fault::delay(1, 0, 1s, 100ms, 4s), network_fault::flip(1, 0, 1s)}) {
        CAPTURE(describe(harm));
        simulated_options options;
        options.faults = {harm};
        std::vector<std::string> heard;
        simulate(2, options, [&](simulated& t) {
            if (t.rank() == 0) {
                heard = heard_by_0(t);
                return;
            }
            t.tolerate();
            t.charge({.flops = 51e9});  // 1.02 s
            std::int32_t value = 2;     // the first: a later one would not fit to a link anew
            const auto send = [&] {
                (void)t.send(0, {1, 0, 0}, std::as_bytes(std::span(&value, 1)));
            };
            const bool is_flipped = harm.what == network_fault::kind::flip;
            if (is_flipped || harm.what == network_fault::kind::pause)
                CHECK_THROWS_AS(send(), peer_failure);  // it was told at once, or when it woke
            else
                send();
            std::optional<rank_change> change;
            while (!(change = t.next_change())) t.charge({.flops = 5e8});  // 10 ms
            CHECK(change->rank == 0);
            CHECK_FALSE(change->is_here);
            const std::string why = is_flipped ? "it sent what is no frame" : "no sign of life";
            CHECK(change->cause.starts_with("it has given this rank up: " + why));
            // Not by silence of rank 0's, which would take until dead_after later.
            const time_point by =
                time_point{} + (harm.what == network_fault::kind::pause ? 5s : 4s);
            CHECK(t.now() < by + 100ms);
            CHECK_THROWS_AS(send(), peer_failure);
            t.charge({.flops = 2e11});
        }).require_success();
        CHECK(heard == std::vector<std::string>{"1 went"});
    }
}

namespace {

struct without_blame {
    int rank() const;
    int size() const;
    request send(int, tag, byte_view);
    request receive(int, tag, mutable_byte_view);
    std::optional<completion> poll(request);
    completion wait(request);
    std::uint64_t activity();
    void await(std::uint64_t);
    bool agree(bool);
    void withdraw() noexcept;
    void fail(std::string_view) noexcept;
    void at(peer_failure::job_phase);
    void reserve(std::int64_t);
    time_point now() const;
    void charge(work);
    traffic counters() const;
    void tolerate();
    std::optional<rank_change> next_change();
};
struct with_blame : without_blame {
    void blame(int, const std::string&, errc);
};
static_assert(transport<without_blame> && !tolerant_transport<without_blame>);
static_assert(tolerant_transport<with_blame>);

}  // namespace

TEST_CASE("a vote with a rank that went, or does not vote, ends by its name, and work goes on") {
    enum class why { failed, left, late };
    for (const why ends : {why::failed, why::left, why::late}) {
        CAPTURE(static_cast<int>(ends));
        simulated_options options;
        options.timeout = 5s;
        if (ends == why::failed) options.faults = {network_fault::crash(2, 1s)};
        simulate(3, options, [&](simulated& t) {
            std::vector<std::byte> memory(100);
            t.tolerate();
            CHECK(t.agree(true));
            if (t.rank() == 2) {
                if (ends != why::left) t.charge({.flops = 1e12});
                return;
            }
            const time_point began = t.now();
            try {
                (void)t.agree(true);
                FAIL("a vote is missing");
            } catch (const peer_failure& e) {
                CHECK(e.rank() == 2);
            }
            CHECK((t.now() - began >= 5s) == (ends == why::late));
            if (t.rank() == 0)
                t.wait(t.send(1, {2, 0, 0}, memory));
            else
                CHECK(t.wait(t.receive(0, {2, 0, 0}, memory)).bytes == 100);
        }).require_success();
    }
}

TEST_CASE("a rank that came again has no vote, and is not expelled for asking") {
    simulated_options options;
    options.timeout = 5s;
    options.faults = {network_fault::crash(1, 2s), network_fault::restart(1, 3s)};
    simulate(2, options, [&](simulated& t) {
        std::int32_t value = 0;
        const auto memory = std::as_writable_bytes(std::span(&value, 1));
        t.tolerate();
        if (t.life() > 1) {
            say(t, 9);
            CHECK_THROWS_AS((void)t.agree(true), peer_failure);
            return;
        }
        CHECK(t.agree(true));
        t.charge({.flops = 2e11});  // 4 s
        for (const bool is_here : {false, true}) {
            const auto change = t.next_change();
            REQUIRE(change);
            CHECK(change->is_here == is_here);
        }
        CHECK_THROWS_AS((void)t.agree(true), peer_failure);
        t.charge({.flops = 5e10});  // 1 s: what it voted has come
        CHECK(t.wait(t.receive(1, {1, 0, 0}, memory)).source == 1);
        CHECK(value == 9);
        CHECK_FALSE(t.next_change());
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
