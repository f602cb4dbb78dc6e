#pragma once

#include "sotto/compressors/selector.hpp"

#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL std::int64_t entries_at(double density, std::int64_t n) noexcept {
    const double exact = density * static_cast<double>(n);
    const auto k = static_cast<std::int64_t>(std::ceil(exact * (1.0 - 1e-12)));
    return k < n ? k : n;
}

SOTTO_DECL void check_density(const char* policy, const double& density) {
    require_option(policy, "density", density, detail::allowed::above(0.0).at_most(1.0),
                   " (0.001 sends one entry in a thousand)");
}

}  // namespace sotto
