#pragma once

#include <cstdint>

namespace sotto::detail {

/// A gradient that a server took, in the order in which it did: with the same order and gradients
/// everything repeats.
struct served_push {
    int worker = 0;             // from 0 on
    std::uint64_t round = 0;    // of the worker
    std::uint64_t read = 0;     // version that it was computed at
    std::uint64_t applied = 0;  // version that it led to; 0: it was dropped
    friend bool operator==(const served_push&, const served_push&) = default;
};

}  // namespace sotto::detail
