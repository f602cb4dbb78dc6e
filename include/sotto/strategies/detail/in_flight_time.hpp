#pragma once

#include <cstdint>

#include "sotto/core/clock.hpp"

namespace sotto::detail {

/// Total time with at least one transfer in flight: the length of the union of their times.
/// Calls are in the order of time.
///   cost    O(1) for each beginning and end
class in_flight_time {
public:
    /// A transfer began.
    void left(duration now) noexcept;
    /// A transfer ended.
    void arrived(duration now) noexcept;

    /// The length so far.
    duration total(duration now) const noexcept;

private:
    std::int64_t count_ = 0;
    duration since_{};   // when the first of those now in flight left
    duration before_{};  // up to then
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/in_flight_time.ipp"
#endif
