#pragma once

#include <chrono>

#include "sotto/core/config.hpp"

namespace sotto {

/// Time that only moves forward. Real transports read it from steady_clock; a simulated transport
/// keeps its own clock. sotto reads the time of day only to label a log.
using time_point = std::chrono::steady_clock::time_point;
/// A length of time, in nanoseconds.
using duration = std::chrono::nanoseconds;

/// Returns a length of time in seconds.
double in_seconds(duration d) noexcept;

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/clock.ipp"
#endif
