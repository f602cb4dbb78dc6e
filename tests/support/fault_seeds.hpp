#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "sotto/transports/simulated_faults.hpp"
#include "sotto/transports/simulated_options.hpp"
#include "support/effort.hpp"

namespace sotto::testing {

inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
    const char* const value = std::getenv(variable);
    return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

/// Ranks that soon miss each other: a round of number_model takes some 30 ms.
inline simulated_options usual(std::uint64_t seed) {
    using namespace std::chrono_literals;
    simulated_options options{.seed = seed};
    options.line = {.out = 1e8, .in = 1e8, .latency = 50us};
    options.machine.flops = 2e5;
    options.slowness = speeds::uniform{};
    options.heartbeat = 40ms;
    options.dead_after = 200ms;
    options.timeout = 5s;
    return options;
}

/// Calls with SOTTO_FAULT_SEEDS seeds from SOTTO_FAULT_SEED on.
template <class Check>
void for_each_seed(std::uint64_t usually, Check&& check) {
    const std::uint64_t first = number_from("SOTTO_FAULT_SEED", 0),
                        count = number_from("SOTTO_FAULT_SEEDS", is_sanitized ? 16 : usually);
    for (std::uint64_t seed = first; seed < first + count; ++seed) check(seed);
}

/// What a failure of a seed says: the faults, and the command that repeats it.
inline std::string seed_note(std::uint64_t seed, const simulated_options& options,
                             const std::string& test) {
    std::string text = "again: SOTTO_FAULT_SEEDS=1 SOTTO_FAULT_SEED=" + std::to_string(seed) + " " +
                       test + "; faults:";
    for (const network_fault& f : options.faults) text += "\n    " + describe(f);
    return text;
}

/// Ranks that a fault could end.
inline std::set<int> concerned_by(const simulated_options& options) {
    std::set<int> found;
    for (const network_fault& f : options.faults) {
        if (f.is_harmless(options.dead_after / 2)) continue;
        found.insert(f.rank);
        if (f.is_of_connection()) found.insert(f.peer);
    }
    return found;
}

}  // namespace sotto::testing
