#pragma once

#include <cstdint>

#include "sotto/core/clock.hpp"

namespace sotto::detail {

/// How long one transfer or more was under way: the length of the union of their times, which are
/// told in the order in which they come.
///   cost    O(1) for each beginning and end
class under_way {
public:
    /// A transfer began.
    void left(duration now) noexcept {
        if (count_++ == 0) since_ = now;
    }
    /// A transfer ended.
    void arrived(duration now) noexcept {
        if (--count_ == 0) before_ += now - since_;
    }

    /// The length so far.
    duration total(duration now) const noexcept {
        return count_ > 0 ? before_ + (now - since_) : before_;
    }

private:
    std::int64_t count_ = 0;
    duration since_{};   // when the first of those now under way left
    duration before_{};  // up to then
};

}  // namespace sotto::detail
