#pragma once

#include "sotto/strategies/detail/gossip/state_snapshot.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void state_snapshot::drop() noexcept {
    values_.clear();
    numbers_.clear();
}

SOTTO_DECL std::int64_t state_snapshot::bits_of(double value) noexcept {
    return std::bit_cast<std::int64_t>(value);
}

}  // namespace sotto::detail
