#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace sotto::detail::launch {

/// Environment variable that marks the ranks of one job and all processes that they start. It finds
/// these processes in any process group, unless they drop inherited variables.
///
/// `find` is async-signal-safe, so the child of a threaded process may call it after fork.
class job_mark {
public:
    static constexpr std::string_view name = "SOTTO_JOB";

    /// Makes a value that no other job of this machine has.
    job_mark();

    std::string_view value() const noexcept;

    /// Processes with this mark, limited by what this process may see and by `room`.
    std::span<pid_t> find(std::span<pid_t> room) const noexcept;

private:
    bool is_on(std::string_view process) const noexcept;

    std::array<char, 64> text_{};
    std::size_t size_ = 0;
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/job_mark.ipp"
#endif
