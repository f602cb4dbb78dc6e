#pragma once

#include <cstdint>

namespace sotto::detail {

/// Bytes that a server takes; of what is taken when it is needed, the most that it can be.
struct server_memory {
    std::int64_t parameters = 0;   // its own, and the gradient at hand
    std::int64_t optimizer = 0;    // what it remembers, as far as its visit shows it
    std::int64_t compensator = 0;  // likewise, such as the mean squares of DC-ASGD-a
    std::int64_t versions = 0;     // at most: copies of what workers have read, see version_store
    std::int64_t changes = 0;      // at most: the ring of last steps, see changed_entries
    std::int64_t messages = 0;     // at most: pushes that are received, collected and decoded, and
                                   // answers

    /// All of it.
    std::int64_t together() const noexcept;
    friend bool operator==(const server_memory&, const server_memory&) = default;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/server_memory.ipp"
#endif
