#pragma once

#include "sotto/transports/simulated_options.hpp"

#include <cmath>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/detail/text/number_text.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::detail {

SOTTO_DECL double simulated_machine::seconds_for(work amount) const noexcept {
    return std::fmax(amount.flops / flops, amount.bytes / bytes);
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL simulated_options::connection simulated_options::connection::ethernet(
    double bits_per_second, duration latency) {
    const double payload = bits_per_second / 8.0 * 1448.0 / 1514.0;
    return {payload, payload, latency};
}

SOTTO_DECL const simulated_options::connection& simulated_options::line_of(
    int rank) const noexcept {
    return lines.empty() ? line : lines[static_cast<std::size_t>(rank)];
}

SOTTO_DECL std::string describe(const simulated_options& of) {
    const auto number = [](double value) { return detail::general_text(value, 6); };
    const auto range = [&](double scale, auto&& figure) {
        double low = figure(of.line_of(0)), high = low;
        for (const simulated_options::connection& line : of.lines) {
            low = std::fmin(low, figure(line));
            high = std::fmax(high, figure(line));
        }
        return number(scale * low) + (low < high ? " to " + number(scale * high) : "");
    };
    std::string out =
        range(8e-6, [](const simulated_options::connection& line) { return line.out; }) +
        " Mbit/s of payload out and " +
        range(8e-6, [](const simulated_options::connection& line) { return line.in; }) +
        " in, latency " +
        range(1e3,
              [](const simulated_options::connection& line) { return in_seconds(line.latency); }) +
        " ms, seed " + std::to_string(of.seed) + "; each rank " + number(1e-9 * of.machine.flops) +
        " Gflop/s and " + number(1e-9 * of.machine.bytes) + " GB/s of memory";
    if (const auto* const one = of.slowness.target<speeds::one_slow>(); one && one->factor != 1.0)
        out += ", rank " + std::to_string(one->rank) + " " + number(one->factor) + " times slower";
    if (!of.faults.empty()) out += ", faults: " + std::to_string(of.faults.size());
    return out;
}

}  // namespace sotto

namespace sotto::detail::simulation {

SOTTO_DECL net::packet_options packet_options_of(const simulated_options& from) noexcept {
    return {.timeout = from.timeout,
            .budget = from.budget,
            .transfers = from.transfers,
            .heartbeat = from.heartbeat,
            .dead_after = from.dead_after};
}

SOTTO_DECL void require_possible(const simulated_options& options, int ranks) {
    const auto refuse = [](const std::string& what) { throw invalid_option("simulated: " + what); };
    if (ranks < 1 || ranks > ranks_max)
        refuse(std::to_string(ranks) + " ranks; 1 to " + std::to_string(ranks_max) +
               " are possible");
    if (!options.lines.empty() && options.lines.size() != static_cast<std::size_t>(ranks))
        refuse(std::to_string(options.lines.size()) + " lines for " + std::to_string(ranks) +
               " ranks; none or one for each is expected");
    constexpr auto rate = allowed::above(0.0);
    const auto require_time = [&](const char* name, duration value, bool may_be_0) {
        if (value < duration::zero() || (value == duration::zero() && !may_be_0) ||
            value > std::chrono::years(1))
            refuse(std::string(name) + " is " + std::to_string(value.count()) + " ns; it must be " +
                   (may_be_0 ? "at least" : "above") + " 0 and at most a year");
    };
    for (int rank = 0; rank < (options.lines.empty() ? 1 : ranks); ++rank) {
        const simulated_options::connection& line = options.line_of(rank);
        require_option("simulated", "line.out", line.out, rate);
        require_option("simulated", "line.in", line.in, rate);
        require_time("line.latency", line.latency, true);
    }
    require_option("simulated", "machine.flops", options.machine.flops, rate);
    require_option("simulated", "machine.bytes", options.machine.bytes, rate);
    require_time("call", options.call, false);
    speeds::require_possible(options.slowness, ranks);
    require_time("heartbeat", options.heartbeat, false);
    if (options.timeout != deadline::never) require_time("timeout", options.timeout, false);
    require_time("dead_after", options.dead_after, true);
    if (options.dead_after != duration::zero() && options.dead_after < 4 * options.heartbeat)
        refuse("dead_after must be 0 or at least four heartbeats");
    if (options.packet < 1024 || options.packet > 1 << 30)
        refuse("packet is " + std::to_string(options.packet) + " bytes; 1024 to 2^30 are possible");
    packet_options_of(options).require_possible("simulated");
    for (const network_fault& f : options.faults) {
        if (f.rank < 0 || f.rank >= ranks || f.peer < 0 || f.peer >= ranks)
            refuse("the fault '" + describe(f) +
                   "' names a rank that there is not; ranks are 0 to " + std::to_string(ranks - 1));
        if (f.is_of_connection() && f.rank == f.peer)
            refuse("the fault '" + describe(f) +
                   "' is of a connection of a rank with itself; two ranks are expected");
        if (f.at < duration::zero())
            refuse("the fault '" + describe(f) + "' is before the beginning, which is at 0");
        if (f.lasts < duration::zero() || f.extra < duration::zero())
            refuse("the fault '" + describe(f) + "' lasts or delays for less than no time");
    }
}

}  // namespace sotto::detail::simulation
