#include "sotto/strategies/server_link.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/transports/run_simulated.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

/// How rank 1's waiting for an answer of rank 0 ended, and after how long.
struct ending {
    int blames = -1;
    std::string cause;
    occasion when;
    duration after{};
};

/// Waits for the answer as a worker does, up to 10 s for a server that is away.
ending wait_for_answer(simulated& t, server_link<simulated>& link) {
    ending end;
    const time_point began = t.now();
    try {
        while (true) {
            const auto seen = t.activity();
            while (const auto change = t.next_change()) {
                if (!change->is_here) link.advance();
                change->is_here ? link.came() : link.went(change->left);
            }
            if (link.advance()) return end;
            if (t.activity() == seen) t.await(seen);
        }
    } catch (const peer_failure& e) {
        end = {e.rank(), e.cause(), e.when(), {}};
    }
    end.after = t.now() - began;
    return end;
}

/// Rank 0 serves for 2 s, without an answer to anything; rank 1 pushes at the beginning, or once
/// the server is gone.
ending wait_in_vain(bool pushes_late, simulated_options options = {}) {
    ending end;
    simulate(2, options, [&](simulated& t) {
        t.tolerate();
        if (t.rank() == 0) {
            t.charge({.flops = 1e11});
            return;
        }
        std::vector<float> values(4);
        server_link<simulated> link(t, 0, values, 10s);
        if (pushes_late) t.charge({.flops = 1.5e11});
        t.at({.round = 7, .phase = "attach"});
        link.at({.round = 7, .phase = "attach"});
        link.push({.kind = wire::push_kind::attach}, {});
        end = wait_for_answer(t, link);
    });
    return end;
}

}  // namespace

TEST_CASE("nobody waits for a server that has left, and the error says that its job is over") {
    for (const bool pushes_late : {false, true}) {
        CAPTURE(pushes_late);
        const ending end = wait_in_vain(pushes_late);
        CHECK(end.blames == 0);
        CHECK(end.cause == "it left: its job is over");
        CHECK(end.when.round == 7);
        CHECK(end.when.phase == std::string("attach"));
        CHECK(end.after < 3s);
    }
}

TEST_CASE("a server that failed is waited for as long as patience lasts") {
    for (const bool pushes_late : {false, true}) {
        CAPTURE(pushes_late);
        simulated_options options;
        options.faults = {network_fault::crash(0, 1s)};
        const ending end = wait_in_vain(pushes_late, options);
        CHECK(end.blames == 0);
        CHECK(end.cause == "it went, and did not come back in time");
        CHECK(end.after > 10s);
    }
}
