#include "sotto/transports/simulated.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/size_only.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/run_simulated.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t header = 64;

/// 1 MB/s and 1 ms from rank to rank, and nothing but what is sent: nobody says that it lives.
simulated_options slow_line() {
    return {.line = {.out = 1e6, .in = 1e6, .latency = 500us}, .dead_after = {}};
}

duration bytes_at_1_MB_per_s(std::size_t count) {
    return std::chrono::microseconds(count);
}

/// What every rank saw of a peer_failure.
struct blame {
    int rank = -1;
    std::string cause;
    duration at{};
};

/// All ranks exchange small messages in a ring until something fails, for two seconds at most.
std::map<int, blame> blamed_by(int ranks, const simulated_options& options,
                               detail::simulated_run* run = nullptr) {
    std::map<int, blame> found;
    const detail::simulated_run ended = simulate(ranks, options, [&](simulated& t) {
        const time_point start = t.now();
        try {
            std::vector<std::byte> out(1000), in(1000);
            for (std::uint64_t round = 0; t.now() - start < 8s; ++round) {
                const request sent = t.send((t.rank() + 1) % t.size(), {1, 0, round}, out);
                t.wait(t.receive((t.rank() + t.size() - 1) % t.size(), {1, 0, round}, in));
                t.wait(sent);
                t.charge({.flops = 5e8});  // 10 ms
                t.agree(true);
            }
        } catch (const peer_failure& e) {
            found[t.rank()] = {e.rank(), e.cause(), t.now() - start};
            throw;
        }
    });
    if (run) *run = ended;
    return found;
}

}  // namespace

TEST_CASE("a message takes the latency and the time of its bytes on the line") {
    for (const std::size_t size : {0u, 1u, 5000u, 65536u, 300000u}) {
        run_simulated(2, slow_line(), [&](simulated& t) {
            std::vector<std::byte> memory(size);
            const time_point start = t.now();
            if (t.rank() == 0) {
                t.wait(t.send(1, {}, memory));
                CHECK(t.now() - start == bytes_at_1_MB_per_s(size + header));
            } else {
                t.wait(t.receive(0, {}, memory));
                CHECK(t.now() - start == 1ms + bytes_at_1_MB_per_s(size + header));
            }
        });
    }
}

TEST_CASE("a rank's line is shared by whom it sends to, and by who sends to it") {
    const std::size_t size = 1'000'000;
    run_simulated(3, slow_line(), [&](simulated& t) {
        std::vector<std::byte> a(size), b(size);
        const time_point start = t.now();
        std::vector<request> all;
        if (t.rank() == 0)
            for (const int to : {1, 2}) all.push_back(t.send(to, {1, 0, 0}, a));
        else
            all.push_back(t.receive(0, {1, 0, 0}, a));
        for (const request r : all) t.wait(r);
        const double one_way = in_seconds(t.now() - start);
        CHECK(one_way == doctest::Approx(2.0).epsilon(0.1));
        t.agree(true);

        const time_point again = t.now();
        all.clear();
        if (t.rank() == 0) {
            all.push_back(t.receive(1, {2, 0, 0}, a));
            all.push_back(t.receive(2, {2, 0, 0}, b));
        } else {
            all.push_back(t.send(0, {2, 0, 0}, a));
        }
        for (const request r : all) t.wait(r);
        const double back = in_seconds(t.now() - again);
        CHECK(back == doctest::Approx(t.rank() == 0 ? 2.0 : 1.0).epsilon(0.1));
    });
}

TEST_CASE("what is computed takes as long as the machine and the rank's slowness say") {
    simulated_options options;
    options.machine = {.flops = 1e9, .bytes = 1e9};
    options.slowness = speeds::one_slow{.rank = 1, .factor = 5.0};
    run_simulated(3, options, [](simulated& t) {
        const double slower = t.rank() == 1 ? 5.0 : 1.0;
        const time_point start = t.now();
        t.charge({.flops = 2e9, .bytes = 1e9});
        CHECK(in_seconds(t.now() - start) == doctest::Approx(2.0 * slower));
        t.charge({.flops = 1e6, .bytes = 3e9});
        CHECK(in_seconds(t.now() - start) == doctest::Approx(5.0 * slower));
    });
}

TEST_CASE("messages without content cost what others do, and touch no memory") {
    const auto took = [](bool real) {
        duration whole{};
        const detail::simulated_run run = run_simulated(4, {.dead_after = {}}, [&](simulated& t) {
            std::vector<float> memory(real ? 1'000'000 : 0);
            const auto values = real ? std::span<float>(memory) : size_only(1'000'000);
            detail::collectives::all_reduce sum(t, 1'000'000, detail::collectives::algorithm::ring);
            const time_point start = t.now();
            sum.start(values, {1, 0, 0});
            detail::collectives::run(t, sum);
            whole = t.now() - start;
        });
        return std::pair(whole, run.trace_hash);
    };
    CHECK(took(true) == took(false));
}

TEST_CASE("a seed fixes everything that happens") {
    const auto hash = [](std::uint64_t seed) {
        simulated_options options{.seed = seed};
        options.slowness = speeds::exponential{};
        return run_simulated(5, options,
                             [](simulated& t) {
                                 std::vector<float> values(1000, 1.0f);
                                 detail::collectives::all_reduce sum(t, 1000);
                                 for (std::uint64_t round = 0; round < 20; ++round) {
                                     t.charge({.flops = 1e8});
                                     sum.start(values, {1, 0, round});
                                     detail::collectives::run(t, sum);
                                 }
                                 t.agree(true);
                             })
            .trace_hash;
    };
    CHECK(hash(1) == hash(1));
    CHECK(hash(1) != hash(2));
}

TEST_CASE("a process that ends is known to all others at once, and by name") {
    simulated_options options;
    options.faults = {network_fault::crash(2, 500ms)};
    detail::simulated_run run;
    const auto found = blamed_by(4, options, &run);
    CHECK(run.ranks[2].killed);
    REQUIRE(found.size() == 3);
    for (const auto& [rank, b] : found) {
        CHECK(b.rank == 2);
        CHECK(b.cause == "its process ended");
        CHECK(b.at >= 500ms);
        CHECK(b.at < 520ms);
    }
}

TEST_CASE("one whose machine lost power is missed after dead_after") {
    simulated_options options;
    options.faults = {network_fault::power_loss(1, 500ms)};
    const auto found = blamed_by(3, options);
    REQUIRE(found.size() == 2);
    for (const auto& [rank, b] : found) {
        CHECK(b.rank == 1);
        CHECK(b.cause.find("no sign of life from it for 2 s") != std::string::npos);
        CHECK(b.at > 2250ms);
        CHECK(b.at < 3s);
    }
}

TEST_CASE("who waits for a rank that is missed goes on in the moment in which it is missed") {
    // Last heard at 240 ms and 100 us; at 440 ms that is not yet more than 200 ms ago. Nobody else
    // is there whose word would wake the one that waits.
    simulated_options options;
    options.heartbeat = 40ms;
    options.dead_after = 200ms;
    options.faults = {network_fault::power_loss(1, 250ms)};
    const detail::simulated_run run = simulate(2, options, [](simulated& t) {
        std::byte in{};
        if (t.rank() == 1) return t.charge({.flops = 5e11});  // 10 s
        t.wait(t.receive(1, {1, 0, 0}, {&in, 1}));
    });
    CHECK(run.ranks[0].thrown);
    CHECK(run.ranks[0].at == 480ms);
}

TEST_CASE("a pause is survived if it is short, and the one that paused is named if it is not") {
    simulated_options options;
    options.faults = {network_fault::pause(1, 500ms, 1500ms)};
    CHECK(blamed_by(3, options).empty());
    options.faults = {network_fault::pause(1, 500ms, 5s)};
    const auto found = blamed_by(3, options);
    REQUIRE(found.size() == 3);  // it wakes up, and is told
    for (const auto& [rank, b] : found) CHECK(b.rank == 1);
}

TEST_CASE("simulated: a halt of all ranks for longer than timeout -> all go on") {
    simulated_options options;
    options.timeout = 30s;
    for (int rank = 0; rank < 3; ++rank)
        options.faults.push_back(network_fault::pause(rank, 2s, 3600s));
    enum class waits { wait, await, agree };
    for (const waits how : {waits::wait, waits::await, waits::agree}) {
        CAPTURE(static_cast<int>(how));
        const auto body = [&](duration works) {
            return [&, works](simulated& t) {
                std::byte in{}, out{7};
                if (t.rank() == 1) t.charge({.flops = 5e10 * in_seconds(works)});
                if (how == waits::agree) {
                    const bool all = t.agree(true);
                    CHECK(all);
                } else if (t.rank() == 1) {
                    t.wait(t.send(0, {16, 0, 0}, {&out, 1}));
                    t.wait(t.send(2, {16, 0, 0}, {&out, 1}));
                } else {
                    const request due = t.receive(1, {16, 0, 0}, {&in, 1});
                    if (how == waits::wait)
                        t.wait(due);
                    else
                        while (!t.poll(due)) t.await(t.activity());
                    CHECK(in == out);
                }
            };
        };
        const detail::simulated_run halted = simulate(3, options, body(25s));
        CHECK_NOTHROW(halted.require_success());
        CHECK(halted.took > 3600s);
        // The time before the halt and after it counts.
        const detail::simulated_run late = simulate(3, options, body(40s));
        CHECK_THROWS_AS(late.require_success(), peer_failure);
    }
}

TEST_CASE("what waits during a one-way partition comes when it heals, in order") {
    simulated_options options;
    options.faults = {network_fault::partition(0, 1, 300ms, 1200ms)};
    CHECK(blamed_by(3, options).empty());
}

TEST_CASE(
    "a rank of which nothing came for too long is named by all, itself too, before it heals") {
    simulated_options options;
    options.faults = {network_fault::partition(0, 1, 300ms, 5s)};
    const auto found = blamed_by(3, options);
    REQUIRE(found.size() == 3);
    for (const auto& [rank, b] : found) {
        CHECK(b.rank == 0);
        CHECK(b.cause.find("no sign of life from it for 2 s") != std::string::npos);
        CHECK(b.at < 3s);
    }
}

TEST_CASE("a connection that breaks ends the job for all alike") {
    simulated_options options;
    options.faults = {network_fault::cut(0, 1, 500ms)};
    const auto found = blamed_by(4, options);
    REQUIRE(found.size() == 4);
    for (const auto& [rank, b] : found) CHECK((b.rank == 0 || b.rank == 1));
}

TEST_CASE("a wrong bit, a missing end and a packet that comes twice are found out") {
    for (const network_fault& harm :
         {network_fault::flip(0, 1, 500ms), network_fault::truncate(0, 1, 500ms),
          network_fault::duplicate(0, 1, 500ms)}) {
        CAPTURE(describe(harm));
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const auto found = blamed_by(3, {.seed = seed, .faults = {harm}});
            CHECK(found.size() == 3);
            for (const auto& [rank, b] : found) CHECK((b.rank == 0 || b.rank == 1));
        }
    }
}

TEST_CASE("options that cannot work are refused by name") {
    const auto nothing = [](simulated&) {};
    CHECK_THROWS_WITH_AS(simulate(0, {}, nothing), "simulated: 0 ranks; 1 to 30000 are possible",
                         invalid_option);
    CHECK_THROWS_WITH_AS(simulate(2, {.lines = {{}}}, nothing),
                         "simulated: 1 lines for 2 ranks; none or one for each is expected",
                         invalid_option);
    const auto refused_for = [&](const char* why, const simulated_options& options) {
        try {
            simulate(2, options, nothing);
            FAIL("accepted");
        } catch (const invalid_option& e) {
            CAPTURE(e.what());
            CHECK(std::string_view(e.what()).find(why) != std::string_view::npos);
        }
    };
    refused_for("names a rank that there is not; ranks are 0 to 1",
                {.faults = {network_fault::crash(2, 1s)}});
    refused_for("of a connection of a rank with itself",
                {.faults = {network_fault::cut(1, 1, 1s)}});
    refused_for("is before the beginning", {.faults = {network_fault::crash(1, -1s)}});
    refused_for("slowness is empty", {.slowness = {}});
    const auto refused_speed = [&](const char* why, const speeds::slowness& of) {
        refused_for(why, {.slowness = of});
        refused_for(why, {.slowness = speeds::of_each_rank{of}});
        refused_for(why, {.slowness = speeds::one_slow{.rank = 1, .others = of}});
        refused_for(why, {.slowness = speeds::one_slow{.others = speeds::of_each_rank{of}}});
    };
    const double infinity = HUGE_VAL;
    refused_speed("simulated: speeds::one_slow.factor is 0; it must be finite and above 0",
                  speeds::one_slow{.rank = 1, .factor = 0.0});
    refused_speed("one_slow.factor is nan", speeds::one_slow{.factor = std::nan("")});
    refused_speed("speeds::one_slow.rank is 2; it must be at least 0 and below 2",
                  speeds::one_slow{.rank = 2});
    refused_speed("speeds::uniform.low is -1; it must be finite and at least 0",
                  speeds::uniform{.low = -1.0});
    refused_speed(
        "speeds::uniform.high is 0.25; it must be finite and at least 0.5, the value of low",
        speeds::uniform{.high = 0.25});
    refused_speed("speeds::uniform.high is inf", speeds::uniform{.high = infinity});
    refused_speed("speeds::exponential.fixed is 2; it must be at least 0 and at most 1",
                  speeds::exponential{.fixed = 2.0});
    refused_speed("speeds::heavy_tailed.shape is 0; it must be finite and above 0",
                  speeds::heavy_tailed{.shape = 0.0});
    refused_speed("speeds::heavy_tailed.most is 0.5; it must be finite and at least 1",
                  speeds::heavy_tailed{.most = 0.5});
    refused_speed("slowness is empty", {});
}

TEST_CASE("a speed of one's own that gives no time is refused where it does") {
    for (const double factor : {-1.0, std::nan(""), HUGE_VAL, 1e30}) {
        simulated_options options;
        options.slowness = [&](int, random_stream&) { return factor; };
        const detail::simulated_run run =
            simulate(1, options, [](simulated& t) { t.charge({.flops = 1e9}); });
        CHECK_THROWS_WITH_AS(run.require_success(), doctest::Contains("0 to 10^9 s are possible"),
                             invalid_option);
    }
}

TEST_CASE("a pause lengthens what is computed by as long as it lasts") {
    for (const duration lasts : {1s, 100s}) {
        simulated_options options;
        options.dead_after = {};
        options.faults = {network_fault::pause(1, 500ms, lasts)};
        const detail::simulated_run run =
            run_simulated(2, options, [](simulated& t) { t.charge({.flops = 50e9 * 10}); });
        CHECK(run.ranks[0].at == 10s);
        CHECK(run.ranks[1].at == 10s + lasts);
    }
}

TEST_CASE("of delays that overlap the longest counts, for as long as it lasts") {
    simulated_options options = slow_line();
    options.faults = {network_fault::delay(0, 1, 0s, 10s, 100ms),
                      network_fault::delay(0, 1, 1s, 2s, 40ms),
                      network_fault::delay(0, 1, 2s, 2s, 300ms)};
    std::vector<duration> late;
    run_simulated(2, options, [&](simulated& t) {
        for (const duration sent : {500ms, 1500ms, 2500ms, 3500ms, 5000ms, 11000ms}) {
            t.charge({.flops = in_seconds(time_point{} + sent - t.now()) * 50e9});
            if (t.rank() == 0)
                t.wait(t.send(1, {}, {}));
            else
                t.wait(t.receive(0, {}, {}));
            if (t.rank() == 1)
                late.push_back(t.now() - time_point{} - sent - 1ms - bytes_at_1_MB_per_s(header));
        }
    });
    CHECK(late == std::vector<duration>{100ms, 100ms, 300ms, 300ms, 100ms, 0ms});
}
