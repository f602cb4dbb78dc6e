#pragma once

#include <cstdint>
#include <string>

#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/server_report.hpp"

namespace sotto::detail {

/// The parts of what a server takes that are not nothing, in words for people, with their sizes.
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

/// What a server will take, in a line for people.
std::string summary_of(const server_memory& memory);

/// "1 round", "2 rounds".
std::string counted_rounds(std::int64_t count);

/// A rank that went, and what became of it.
std::string summary_of(const rank_loss& loss);

/// What became of a server's checkpoints, in a line for people.
std::string summary_of(const server_saves& saves);

}  // namespace sotto::detail

namespace sotto {

/// What a server has seen: a line for each worker, of many the first ones. A worker is held back
/// between its push and the answer; what it waits itself, for the network too, is in its own log.
/// `beside_times`: what is said after each time, such as that it is simulated.
std::string summary_of(const server_report& server, const char* beside_times = "");

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/server_summary.ipp"
#endif
