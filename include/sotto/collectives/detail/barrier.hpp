#pragma once

#include <stdexcept>

#include "sotto/collectives/detail/flight.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

/// Completes at no rank before it was started at every rank.
///   cost    ceil(log2 N) steps; in each a rank sends one empty message. Or what the transport's
///           own barrier costs, where it has one
///   source  Hensgen, Finkel, Manber 1988, Two algorithms for barrier synchronization
class barrier {
public:
    /// Borrows the transport.
    explicit barrier(transport_ref through)
        : through_(through), distance_(through.size()), transfers_(through, 2) {
        native_ = through.native_barrier();
    }

    void start(tag label) {
        
            if (native_) return native_.start();
        if (!transfers_.empty()) throw std::logic_error("barrier: started before it was complete");
        label_ = label;
        distance_ = 1;
        post();
        advance();
    }

    bool advance() {
        
            if (native_) return native_.advance();
        while (transfers_.pop_complete())
            if (transfers_.empty()) {
                distance_ *= 2;
                post();
            }
        return transfers_.empty();
    }

private:
    void post() {
        const int size = through_.size(), rank = through_.rank();
        if (distance_ >= size) return;
        transfers_.push(through_.receive((rank - distance_ + size) % size, label_, {}));
        transfers_.push(through_.send((rank + distance_) % size, label_, {}));
    }

    transport_ref through_;
    tag label_;
    int distance_;
    flight transfers_;
    native_collective native_;
};

}  // namespace sotto::detail::collectives
