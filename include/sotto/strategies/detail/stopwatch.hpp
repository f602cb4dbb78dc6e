#pragma once

#include <utility>

#include "sotto/core/clock.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

/// Cuts a round's time into laps, by the transport's clock.
template <transport Transport>
class stopwatch {
public:
    /// Starts now; borrows the transport.
    explicit stopwatch(const Transport& through) : through_(&through), last_(through.now()) {}

    /// Time since the last lap, or since the start.
    duration lap() {
        const time_point now = through_->now();
        return now - std::exchange(last_, now);
    }

private:
    const Transport* through_;
    time_point last_;
};

}  // namespace sotto::detail
