#pragma once

#include <cstdint>
#include <string>

#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/server_report.hpp"

namespace sotto::detail {

/// Returns the nonzero parts of a server's memory as text, with their sizes.
inline std::string parts_of(const server_memory& memory, auto&& size) {
    std::string parts;
    const auto add = [&](std::int64_t part, const char* what) {
        if (part > 0) parts += (parts.empty() ? "" : ", ") + std::string(what) + " " + size(part);
    };
    add(memory.parameters, "parameters and a gradient");
    add(memory.optimizer, "what the optimizer remembers");
    add(memory.compensator, "what the compensator remembers");
    add(memory.versions, "copies of parameters that workers have read");
    add(memory.changes, "what the last steps changed");
    add(memory.messages, "messages");
    return parts;
}

/// Returns a server's memory as one line of text.
std::string summary_of(const server_memory& memory);

/// Returns "1 round" or "2 rounds".
std::string counted_rounds(std::int64_t count);

/// Describes the loss of a rank and what followed.
std::string summary_of(const rank_loss& loss);

/// Returns the results of a server's checkpoints as one line of text.
std::string summary_of(const server_saves& saves);

}  // namespace sotto::detail

namespace sotto {

/// Returns a server's report as text, with a line for each of the first workers. "Held back" is the
/// time between a worker's push and the answer; a worker's own waiting time, including the network,
/// is in its own log. `beside_times` follows each time, such as " (simulated)".
std::string summary_of(const server_report& server, const char* beside_times = "");

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/server_summary.ipp"
#endif
