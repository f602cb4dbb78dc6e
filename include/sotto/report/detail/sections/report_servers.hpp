#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/logging/run_log.hpp"

namespace sotto::detail::reporting {

/// Histogram of the lateness of a worker's gradients, with one scale for all workers. Later
/// gradients count in the last bar.
class staleness_bars {
public:
    static constexpr std::int64_t bars_max = 48;  // most bars of a worker

    static constexpr std::size_t workers_max = 64;  // most workers drawn

    /// With one scale for the workers of this server.
    explicit staleness_bars(const server_report& server);

    /// Steps of lateness per bar.
    std::int64_t each() const noexcept { return each_; }

    /// Returns the drawing of one worker.
    std::string svg(const served_worker& worker) const;

private:
    static constexpr double width = 300.0, height = 26.0;

    static std::string told(const served_worker& w);

    std::string steps_of(std::size_t bar) const;

    /// Shares of the worker's gradients, by bar.
    std::vector<double> shares(const served_worker& w) const;

    std::int64_t each_ = 1, bars_ = 1;
    double longest_ = 0.0;
};

/// Memory of a server: the sum, and its nonzero parts.
std::string told_memory(const server_memory& memory);

/// Time that a rank waited by its own log, over all its steps; a dash if unknown.
std::string own_waiting(const run_log& run, int rank);

/// Table of one server's workers.
std::string server_table(const server_report& server, const run_log& run);

/// Ranks that were lost while this one trained, the first of them.
std::string told_losses(const run_log& run);

/// Lateness of gradients and lost ranks; empty if no run has a server or lost a rank.
std::string servers_section(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_servers.ipp"
#endif
