#pragma once

#include <cstdint>
#include <string>

namespace sotto::detail {

/// A file that a callback could not write in the middle of training, which goes on without it.
struct write_failure {
    std::int64_t step = 0;  // completed, over all epochs
    std::string reason{};   // names the file, and what the system said
};

/// Says so on standard error.
void complain_of_writing(const write_failure& failure);

/// Tells of the first of several failures in a row: what is tried after every step would fill the
/// screen otherwise.
class complaint {
public:
    explicit complaint(void (*tell)(const write_failure&)) noexcept : tell_(tell) {}

    void worked() noexcept { failing_ = false; }
    void failed(std::int64_t step, std::string reason);
    /// Others took away what was written; told once.
    void lost(std::int64_t step, std::string reason);

    bool is_failing() const noexcept { return failing_; }
    /// Why the last that failed did; empty: none did.
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
