#include "sotto/transports/run_simulated.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
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

}  // namespace

TEST_CASE("a process may end while it withdraws in the midst of a message") {
    for (const duration dies : {5ms, 40ms, 200ms, 900ms}) {
        simulated_options options = slow_line();
        options.faults = {network_fault::crash(0, dies)};
        const simulated_run run = simulate(2, options, [](simulated& t) {
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
    const simulated_run run = simulate(2, slow_line(), [](simulated& t) {
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
