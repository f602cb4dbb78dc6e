#pragma once

#include "sotto/collectives/detail/barrier.hpp"

#include <stdexcept>

#include "sotto/core/config.hpp"

namespace sotto::detail::collectives {

SOTTO_DECL barrier::barrier(transport_ref through)
    : through_(through), distance_(through.size()), transfers_(through, 2) {
    native_ = through.native_barrier();
}

SOTTO_DECL void barrier::start(tag label) {
    if (native_) return native_.start();
    if (!transfers_.empty()) throw std::logic_error("barrier: started before it was complete");
    label_ = label;
    distance_ = 1;
    post();
    advance();
}

SOTTO_DECL bool barrier::advance() {
    if (native_) return native_.advance();
    while (transfers_.pop_complete())
        if (transfers_.empty()) {
            distance_ *= 2;
            post();
        }
    return transfers_.empty();
}

SOTTO_DECL void barrier::post() {
    const int size = through_.size(), rank = through_.rank();
    if (distance_ >= size) return;
    transfers_.push(through_.receive((rank - distance_ + size) % size, label_, {}));
    transfers_.push(through_.send((rank + distance_) % size, label_, {}));
}

}  // namespace sotto::detail::collectives
