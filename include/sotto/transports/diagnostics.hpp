#pragma once

#include <atomic>
#include <string>

#include "sotto/transports/transport_ref.hpp"

namespace sotto {

/// An event that the user should know at once: a rank was lost or returned, a gradient was dropped,
/// a checkpoint could not be written.
struct diagnostic {
    int rank = 0;        // rank that reports it
    std::string text{};  // one line, safe to print
};

/// Prints a diagnostic to standard error, as a line of its own.
void print_diagnostic(const diagnostic& said) noexcept;

/// Receives every diagnostic of this process, at any time and from several threads at once. Null:
/// diagnostics are discarded. It must not throw, because a round is running.
inline std::atomic<void (*)(const diagnostic&) noexcept> on_diagnostic{print_diagnostic};

}  // namespace sotto

namespace sotto::detail {

/// Sends the diagnostics of one rank. Ranks of a simulated network send none: a search over seeds
/// loses thousands of ranks.
class diagnostics {
public:
    /// Diagnostics of a rank of this transport; silent on a simulated network.
    static diagnostics of(transport_ref through);
    /// Diagnostics that do not concern the network, such as those of a disk; never silent.
    static diagnostics of_files(transport_ref through);
    /// Diagnostics of a rank. If silent, it sends none.
    diagnostics(int rank, bool silent) noexcept : rank_(rank), silent_(silent) {}

    /// Sends a diagnostic as one line: see printable.
    void say(const std::string& text) const;

private:
    int rank_;
    bool silent_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/diagnostics.ipp"
#endif
