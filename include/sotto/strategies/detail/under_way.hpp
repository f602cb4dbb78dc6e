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
    void left(duration now) noexcept;
    /// A transfer ended.
    void arrived(duration now) noexcept;

    /// The length so far.
    duration total(duration now) const noexcept;

private:
    std::int64_t count_ = 0;
    duration since_{};   // when the first of those now under way left
    duration before_{};  // up to then
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/under_way.ipp"
#endif
