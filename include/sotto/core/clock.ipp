#pragma once

#include "sotto/core/clock.hpp"

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL double in_seconds(duration d) noexcept {
    return std::chrono::duration<double>(d).count();
}

}  // namespace sotto
