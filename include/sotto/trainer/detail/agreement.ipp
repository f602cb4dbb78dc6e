#pragma once

#include "sotto/trainer/detail/agreement.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL bool all_equal(std::span<const text_card> cards) noexcept {
    return std::ranges::all_of(cards, [&](const text_card& c) { return c == cards.front(); });
}

}  // namespace sotto::detail
