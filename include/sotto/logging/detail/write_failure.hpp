#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "sotto/core/detail/text/print_line.hpp"

namespace sotto::detail {

/// A file that a callback could not write in the middle of training, which goes on without it.
struct write_failure {
    std::int64_t step = 0;  // completed, over all epochs
    std::string reason{};   // names the file, and what the system said
};

/// Says so on standard error.
inline void complain_of_writing(const write_failure& failure) {
    detail::print_line(stderr, "after step " + std::to_string(failure.step) + ": " +
                                   failure.reason + "; that does not stop training");
}

/// Tells of the first of several failures in a row: what is tried after every step would fill the
/// screen otherwise.
class complaint {
public:
    explicit complaint(void (*tell)(const write_failure&)) noexcept : tell_(tell) {}

    void worked() noexcept { failing_ = false; }
    void failed(std::int64_t step, std::string reason) {
        last_ = std::move(reason);
        if (!std::exchange(failing_, true) && tell_) tell_({step, last_});
    }
    /// Others took away what was written; told once.
    void lost(std::int64_t step, std::string reason) {
        if (!lost_.empty()) return;
        lost_ = std::move(reason);
        if (tell_) tell_({step, lost_});
    }

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
