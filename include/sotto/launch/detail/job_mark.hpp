#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace sotto::detail::launch {

/// A variable of the ranks of one job, by which what they start is known wherever it moved to:
/// unless it drops what it inherits.
///
/// Finding is async-signal-safe: a process that was forked of several threads may do it.
class job_mark {
public:
    static constexpr std::string_view name = "SOTTO_JOB";

    /// No other job of this machine has it.
    job_mark();

    std::string_view value() const noexcept;

    /// Processes that have it, as far as this one may see that and there is room for them.
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
