#pragma once

#include "sotto/core/random.hpp"

#include <cmath>

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL float random_stream::normal() noexcept {
    while (true) {
        const double x = static_cast<double>((*this)() >> 6) * 0x1p-25 - 1.0;
        const double y = static_cast<double>((*this)() >> 6) * 0x1p-25 - 1.0;
        const double square = x * x + y * y;
        if (square > 0.0 && square < 1.0)
            return static_cast<float>(x * std::sqrt(-2.0 * std::log(square) / square));
    }
}

}  // namespace sotto
