#pragma once

#include <atomic>
#include <string>

#include "sotto/transports/transport_ref.hpp"

namespace sotto {

/// An event that a person should know at once: a rank was lost or came back, a gradient was
/// dropped, a checkpoint could not be written.
struct diagnostic {
    int rank = 0;        // that says it
    std::string text{};  // one line, safe to print
};

/// Prints it to standard error, as a line of its own.
void print_diagnostic(const diagnostic& said) noexcept;

/// Receives every diagnostic of this process, at any time and from several threads at once. Null:
/// no function does. It must not throw: a round is running.
inline std::atomic<void (*)(const diagnostic&) noexcept> on_diagnostic{print_diagnostic};

}  // namespace sotto

namespace sotto::detail {

/// The diagnostics of one rank. Ranks of a simulated network print none: a search over seeds loses
/// ranks by the thousand.
class diagnostics {
public:
    /// Diagnostics of a rank of this transport.
    static diagnostics of(transport_ref through);
    /// Diagnostics of what is no part of a network, such as a disk.
    static diagnostics of_files(transport_ref through);
    /// Diagnostics of a rank. Silent: it sends none.
    diagnostics(int rank, bool silent) noexcept : rank_(rank), silent_(silent) {}

    /// Sends a diagnostic, as one line: see printable.
    void say(const std::string& text) const;

private:
    int rank_;
    bool silent_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/diagnostics.ipp"
#endif
