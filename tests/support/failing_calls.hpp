#pragma once

#include <cstdint>

namespace support {

/// Lets one system call of this thread fail, as where a limit is reached, while it lives. It counts
/// calls that make a socket, a connection, an event, a timer or a thread. Linked into every test
/// executable; one at a time in a thread.
///   errors  none; under the thread sanitizer, which keeps these calls itself, `works` is false
class failing_calls {
public:
    static const bool works;

    /// The call number `which` fails, counted from 0; below 0 none does.
    explicit failing_calls(std::int64_t which) noexcept;
    failing_calls(const failing_calls&) = delete;
    failing_calls& operator=(const failing_calls&) = delete;
    ~failing_calls();

    /// Calls so far.
    std::int64_t count() const noexcept;
    /// The name of the call that failed; null if none did.
    const char* failed() const noexcept;
};

}  // namespace support
