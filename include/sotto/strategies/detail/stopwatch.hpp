#pragma once

#include "sotto/core/clock.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// Cuts a round's time into laps, by the transport's clock.
class stopwatch {
public:
    /// Starts now; borrows the transport.
    explicit stopwatch(transport_ref through) : through_(through), last_(through.now()) {}

    /// Time since the last lap, or since the start.
    duration lap();

private:
    transport_ref through_;
    time_point last_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/stopwatch.ipp"
#endif
