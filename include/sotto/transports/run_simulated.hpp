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

/// What a run on a simulated network was.
struct simulated_run {
    std::uint64_t trace_hash = 0;  // the same number: the same happened, see simulated_trace
    std::int64_t events = 0;       // that happened, as the trace counts them
    duration took{};               // simulated time until the last rank ended

    /// How a rank ended.
    struct ending {
        bool killed = false;          // by a fault
        std::exception_ptr thrown{};  // or what it threw; neither: its function returned
        duration at{};                // in simulated time since the beginning
    };
    std::vector<ending> ranks;  // how each ended
    int first_to_throw = -1;    // which rank; -1: none did

    /// What is there once all ranks have ended, and what was under way then has come or was
    /// dropped: none of it after a run in which no rank failed.
    struct leavings {
        std::int64_t timers = 0;     // ranks that would still be called
        std::int64_t transfers = 0;  // that were begun and never waited for
        std::int64_t packets = 0;    // never received nor dropped

        friend bool operator==(const leavings&, const leavings&) = default;
    };
    leavings left;                     // see leavings
    std::int64_t packets_at_once = 0;  // under way, at most: what has memory of its own

    /// Throws what the first rank threw that threw.
    void require_success() const;
};

}  // namespace sotto::detail

namespace sotto {

/// Runs `f(transport)` once for every rank of a simulated network, with a `simulated&`; returns
/// when all returned, threw or were killed, and says how. For a rank that is started again `f` is
/// called again. Nothing that they throw is thrown here; see
/// run_simulated. `listener` is called with every event.
///   errors  invalid_option: options that cannot work
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

/// The same, but throws what the first rank threw that threw.
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
