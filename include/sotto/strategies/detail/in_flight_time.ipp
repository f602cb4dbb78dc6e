#pragma once

#include "sotto/strategies/detail/in_flight_time.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void in_flight_time::left(duration now) noexcept {
    if (count_++ == 0) since_ = now;
}

SOTTO_DECL void in_flight_time::arrived(duration now) noexcept {
    if (--count_ == 0) before_ += now - since_;
}

SOTTO_DECL duration in_flight_time::total(duration now) const noexcept {
    return count_ > 0 ? before_ + (now - since_) : before_;
}

}  // namespace sotto::detail
