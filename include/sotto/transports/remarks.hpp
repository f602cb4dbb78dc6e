#pragma once

#include <atomic>
#include <string>

#include "sotto/transports/transport_ref.hpp"

namespace sotto {

/// What somebody who looks on should know the moment it happens: a rank that went or came again, a
/// gradient that was dropped, a save that failed.
struct remark {
    int rank = 0;        // that says it
    std::string text{};  // one line, safe to print
};

/// Prints it to standard error, as a line of its own.
void say_remark(const remark& said) noexcept;

/// Who is told of every remark of this process, at any time and by several threads at once; null:
/// nobody. It is told in the midst of a round, which its exceptions would end: it throws none.
inline std::atomic<void (*)(const remark&) noexcept> on_remark{say_remark};

}  // namespace sotto

namespace sotto::detail {

/// What one rank remarks. Of other ranks those of a simulated network say nothing: a search over
/// seeds loses them by the thousand.
class remarks {
public:
    /// Those of a rank of this transport.
    static remarks of(transport_ref through);
    /// On what is no part of any network, such as a disk.
    static remarks of_files(transport_ref through);
    /// Those of a rank; silent: it says nothing.
    remarks(int rank, bool silent) noexcept : rank_(rank), silent_(silent) {}

    /// Tells a remark, as one line: see printable.
    void say(const std::string& text) const;

private:
    int rank_;
    bool silent_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/remarks.ipp"
#endif
