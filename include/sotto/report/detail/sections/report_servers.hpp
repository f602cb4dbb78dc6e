#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/logging/run_log.hpp"

namespace sotto::detail::reporting {

/// How many of a worker's gradients came so late, as bars of one scale for all workers; what is
/// later than the last bar is counted there.
class staleness_bars {
public:
    static constexpr std::int64_t bars_max = 48;  // of a worker, at most

    static constexpr std::size_t workers_max = 64;  // that are drawn

    /// With one scale for the workers of this server.
    explicit staleness_bars(const server_report& server);

    /// Steps of lateness that a bar stands for.
    std::int64_t each() const noexcept { return each_; }

    /// The drawing of one worker.
    std::string svg(const served_worker& worker) const;

private:
    static constexpr double width = 300.0, height = 26.0;

    static std::string told(const served_worker& w);

    std::string steps_of(std::size_t bar) const;

    /// Of the worker's gradients, by bars.
    std::vector<double> shares(const served_worker& w) const;

    std::int64_t each_ = 1, bars_ = 1;
    double longest_ = 0.0;
};

/// What a server takes: the sum, and its parts that are not nothing.
std::string told_memory(const server_memory& memory);

/// What a rank waited by its own log, of all its steps; where that is not known, a dash.
std::string own_waiting(const run_log& run, int rank);

/// What one server saw of its workers.
std::string server_table(const server_report& server, const run_log& run);

/// Ranks that went while this one trained on, of many the first.
std::string told_losses(const run_log& run);

/// How late gradients were, and who went; nothing where no run has a server or lost a rank.
std::string servers_section(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_servers.ipp"
#endif
