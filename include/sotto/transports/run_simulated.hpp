#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/transports/detail/simulated/simulated_network.hpp"
#include "sotto/transports/detail/simulated/virtual_time.hpp"
#include "sotto/transports/fail_with_exception.hpp"
#include "sotto/transports/simulated.hpp"
#include "sotto/transports/simulated_options.hpp"
#include "sotto/transports/simulated_trace.hpp"

namespace sotto::detail {

/// Result of a run on a simulated network.
struct simulated_run {
    std::uint64_t trace_hash = 0;  // equal for runs with equal events, see simulated_trace
    std::int64_t events = 0;       // number of events in the trace
    duration took{};               // simulated time until the last rank ended

    /// How a rank ended.
    struct ending {
        bool killed = false;          // a fault ended it
        std::exception_ptr thrown{};  // its exception; if not killed and empty, its function
                                      // returned
        duration at{};                // simulated time since the start
    };
    std::vector<ending> ranks;  // of each rank
    int first_to_throw = -1;    // first rank that threw; -1: none

    /// What is left after all ranks have ended and everything in flight has arrived or was dropped.
    /// All zero after a run without failed ranks.
    struct leavings {
        std::int64_t timers = 0;     // ranks whose system would still be called
        std::int64_t transfers = 0;  // started and never waited for
        std::int64_t packets = 0;    // not received and not dropped

        friend bool operator==(const leavings&, const leavings&) = default;
    };
    leavings left;                     // see leavings
    std::int64_t packets_at_once = 0;  // maximum number of packets in flight, each with its own
                                       // memory

    /// Rethrows the exception of the first rank that threw, if any.
    void require_success() const;
};

}  // namespace sotto::detail

namespace sotto {

/// Runs `f(transport)` once for every rank of a simulated network, with a `simulated&`. Returns
/// when all have returned, thrown or were killed, and reports how each ended. A rank that is
/// restarted calls `f` again. Exceptions of ranks are not rethrown; see run_simulated. Every event
/// calls `listener`.
///   errors  invalid_option: invalid options
template <class F>
detail::simulated_run simulate(int ranks, const simulated_options& options, F&& f,
                               std::function<void(const detail::simulated_event&)> listener = {}) {
    static_assert(
        requires(F & g, simulated & t) { g(t); },
        "simulate needs a function that takes a simulated&");
    detail::simulation::virtual_time time(ranks);
    detail::simulation::network network(time, ranks, options);
    network.trace().listener = std::move(listener);
    detail::simulated_run run;
    run.ranks.resize(static_cast<std::size_t>(ranks));
    const time_point begin = time.now();
    const auto attempt = [&](int rank) {
        simulated endpoint(network, rank);
        try {
            f(endpoint);
            run.left.transfers += static_cast<std::int64_t>(endpoint.open_transfers());
        } catch (const detail::simulation::killed&) {
            throw;
        } catch (...) {
            if (!time.is_killed(rank)) fail_with_exception(endpoint);
            throw;
        }
    };
    const auto run_once = [&](int rank) {
        auto& ending = run.ranks[static_cast<std::size_t>(rank)];
        ending = {};
        try {
            if (!time.is_killed(rank)) attempt(rank);
        } catch (const detail::simulation::killed&) {
        } catch (...) {
            ending.thrown = std::current_exception();
            if (run.first_to_throw < 0) run.first_to_throw = rank;
        }
        ending.killed = time.is_killed(rank);
        ending.at = time.now() - begin;
        network.end(rank);
        run.took = time.now() - begin;
    };
    time.run([&](int rank) {
        run_once(rank);
        while (time.is_killed(rank) && !time.is_stopped()) {
            const auto again = network.restart_of(rank);
            if (!again) break;
            time.revive(rank);
            time.work(rank, *again);
            run_once(rank);
        }
    });
    run.trace_hash = network.trace().hash();
    run.events = network.trace().count();
    network.trace().listener = {};
    time.settle();
    run.left.timers = network.left_connected();
    run.left.packets = network.packets_under_way();
    run.packets_at_once = network.packets_room();
    return run;
}

/// The same, but rethrows the exception of the first rank that threw.
template <class F>
detail::simulated_run run_simulated(int ranks, const simulated_options& options, F&& f) {
    detail::simulated_run run = simulate(ranks, options, std::forward<F>(f));
    run.require_success();
    return run;
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/run_simulated.ipp"
#endif
