// What exchanges cost on a simulated network, of sizes alone, beside their closed forms.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/collectives/ring.hpp"
#include "sotto/core/size_only.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/effort.hpp"

using namespace sotto;
using sotto::testing::tries;
using namespace std::chrono_literals;

namespace {

constexpr int ranks = tries(100, 24);
constexpr double header = 64;

/// 1 Gbit/s of Ethernet and 100 us from rank to rank; computing takes no time.
simulated_options ethernet() {
    return {.line = simulated_options::connection::ethernet(1e9, 50us),
            .machine = {.flops = 1e18, .bytes = 1e18},
            .dead_after = {}};
}

double bytes_per_second() {
    return ethernet().line.out;
}

struct costs {
    double seconds = 0.0;           // until the last rank is done
    std::int64_t least = 0;         // bytes of messages that a rank sends
    std::int64_t most = 0;          //
    traffic all{};                  // of all ranks
    std::int64_t on_the_lines = 0;  // with all headers
    std::int64_t off_the_lines = 0;
    std::uint64_t trace_hash = 0;
};

template <class F>
costs costs_of(F f) {
    costs found{.least = INT64_MAX};
    bool all_arrived = false;
    const detail::simulated_run run = simulate(
        ranks, ethernet(),
        [&](simulated& through) {
            f(through);
            found.seconds = std::max(found.seconds, in_seconds(through.now() - time_point{}));
            const traffic own = through.counters();
            found.least = std::min(found.least, own.bytes_sent);
            found.most = std::max(found.most, own.bytes_sent);
            found.all.bytes_sent += own.bytes_sent;
            found.all.bytes_received += own.bytes_received;
            found.all.messages_sent += own.messages_sent;
            found.all.messages_received += own.messages_received;
            through.agree(true);
            through.charge({.flops = 1e16});  // 10 ms, in which the last vote arrives
            all_arrived = true;               // what ranks say when they leave is not counted
        },
        [&](const detail::simulated_event& e) {
            if (all_arrived) return;
            if (e.what == detail::simulated_event::kind::sent) found.on_the_lines += e.size;
            if (e.what == detail::simulated_event::kind::arrived) found.off_the_lines += e.size;
        });
    run.require_success();
    found.trace_hash = run.trace_hash;
    return found;
}

void check_conserved(const costs& found, std::int64_t of_each) {
    CHECK(found.least == of_each);
    CHECK(found.most == of_each);
    CHECK(found.all.bytes_sent == ranks * of_each);
    CHECK(found.all.bytes_received == found.all.bytes_sent);
    CHECK(found.all.messages_received == found.all.messages_sent);
    CHECK(found.on_the_lines > found.all.bytes_sent);
    CHECK(found.off_the_lines == found.on_the_lines);
}

}  // namespace

TEST_CASE("a dense sum of a hundred ranks takes the time of its bytes and of its steps") {
    // A segment a part: what comes goes on when all of it is there.
    constexpr std::int64_t part = 65536, n = ranks * part;
    const costs found = costs_of([](simulated& through) {
        auto sum = collectives::ring{}.bind(through, n);
        sum.start(size_only(static_cast<std::size_t>(n)), {1, 0, 0});
        detail::collectives::run(through, sum);
    });
    constexpr std::int64_t steps = 2 * (ranks - 1), bytes = 4 * n;
    check_conserved(found, steps * bytes / ranks);
    CHECK(found.all.messages_sent == ranks * steps);
    const double on_wires = 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes);
    const double closed_form =
        (on_wires + static_cast<double>(steps) * header) / bytes_per_second() +
        static_cast<double>(steps) * 100e-6;
    CHECK(found.seconds == doctest::Approx(closed_form).epsilon(0.01));
}

TEST_CASE("segments hide the steps' latency where a part has many") {
    constexpr std::int64_t part = 2 * 65536, n = ranks * part;
    const costs found = costs_of([](simulated& through) {
        auto sum = collectives::ring{}.bind(through, n);
        sum.start(size_only(static_cast<std::size_t>(n)), {1, 0, 0});
        detail::collectives::run(through, sum);
    });
    constexpr std::int64_t bytes = 4 * n;
    check_conserved(found, 2 * (ranks - 1) * bytes / ranks);
    const double on_wires = 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes);
    CHECK(found.seconds == doctest::Approx(on_wires / bytes_per_second()).epsilon(0.01));
}

TEST_CASE("everybody's message to everybody takes the time of all but one's own") {
    constexpr std::int64_t message = 135'758;  // of DGC at 0.1 % of 25 million weights
    const auto exchange = [](simulated& through) {
        detail::collectives::all_gather_v gather(through, 2 * message,
                                                 detail::collectives::route::automatic, false);
        gather.start(size_only<std::byte>(static_cast<std::size_t>(message)), {1, 0, 0});
        detail::collectives::run(through, gather);
    };
    const costs found = costs_of(exchange);
    check_conserved(found, (ranks - 1) * message);
    const double step = (static_cast<double>(message) + header) / bytes_per_second() + 100e-6;
    CHECK(found.seconds == doctest::Approx((ranks - 1) * step).epsilon(0.01));
    CHECK(costs_of(exchange).trace_hash == found.trace_hash);  // the same run again
}
