#pragma once

#include "sotto/strategies/detail/under_way.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void under_way::left(duration now) noexcept {
    if (count_++ == 0) since_ = now;
}

SOTTO_DECL void under_way::arrived(duration now) noexcept {
    if (--count_ == 0) before_ += now - since_;
}

SOTTO_DECL duration under_way::total(duration now) const noexcept {
    return count_ > 0 ? before_ + (now - since_) : before_;
}

}  // namespace sotto::detail
