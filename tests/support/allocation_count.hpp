#pragma once

#include <cstdint>

namespace support {

/// Counts what goes through operator new, in all its forms, from its construction on: to show that
/// a step takes no memory. Linked into every test executable; counters may nest.
///   errors  none; under sanitizers, which keep their own operator new to tell mismatched deletes,
///           `works` is false and every count is 0: such a test says that it skips
///   cost    one relaxed atomic and one thread-local addition for each allocation
class allocation_count {
public:
    static const bool works;

    allocation_count() noexcept : thread_(of_thread()), process_(of_process()) {}

    /// By the calling thread, which must be the one that made this counter.
    std::int64_t on_this_thread() const noexcept { return of_thread() - thread_; }

    /// By all threads together.
    std::int64_t on_all_threads() const noexcept { return of_process() - process_; }

    /// Bytes that the process holds more than at its construction, as the system rounds them.
    std::int64_t bytes_more() const noexcept { return held() - held_; }

private:
    static std::int64_t of_thread() noexcept;
    static std::int64_t of_process() noexcept;
    static std::int64_t held() noexcept;

    std::int64_t thread_;
    std::int64_t process_;
    std::int64_t held_ = held();
};

/// Lets one allocation of this thread fail while it lives, as where there is no memory left. Where
/// allocation_count does not work, none fails.
class failing_allocation {
public:
    /// The allocation number `which` fails, counted from 0; below 0 none does.
    explicit failing_allocation(std::int64_t which) noexcept;
    failing_allocation(const failing_allocation&) = delete;
    failing_allocation& operator=(const failing_allocation&) = delete;
    ~failing_allocation();

    /// Whether it has.
    bool has_failed() const noexcept;
};

}  // namespace support
