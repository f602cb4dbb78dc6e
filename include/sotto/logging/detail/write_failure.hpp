#pragma once

#include <cstdint>
#include <string>

namespace sotto::detail {

/// A failed write of a callback's file; training continues without it.
struct write_failure {
    std::int64_t step = 0;  // steps completed, over all epochs
    std::string reason{};   // file and the system's reason
};

/// Prints the failure on standard error.
void complain_of_writing(const write_failure& failure);

/// Reports only the first of several failures in a row: a write after every step would otherwise
/// fill the screen.
class complaint {
public:
    explicit complaint(void (*tell)(const write_failure&)) noexcept : tell_(tell) {}

    void worked() noexcept { failing_ = false; }
    void failed(std::int64_t step, std::string reason);
    /// Reports once that the written file was removed, renamed or shortened.
    void lost(std::int64_t step, std::string reason);

    bool is_failing() const noexcept { return failing_; }
    /// Returns the reason of the last failure; empty if there is none.
    const std::string& last() const noexcept { return last_; }
    const std::string& lost() const noexcept { return lost_; }

private:
    void (*tell_)(const write_failure&);
    bool failing_ = false;
    std::string last_, lost_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/write_failure.ipp"
#endif
