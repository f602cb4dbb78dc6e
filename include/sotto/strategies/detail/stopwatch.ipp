#pragma once

#include "sotto/strategies/detail/stopwatch.hpp"

#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL duration stopwatch::lap() {
    const time_point now = through_.now();
    return now - std::exchange(last_, now);
}

}  // namespace sotto::detail
