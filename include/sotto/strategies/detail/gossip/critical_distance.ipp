#pragma once

#include "sotto/strategies/detail/gossip/critical_distance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL double squared_critical_distance(const landscape& known, double learning_rate,
                                            int ranks) noexcept {
    return learning_rate * known.noise / (known.smoothness * ranks) +
           known.squared_gradient / (8.0 * known.smoothness * known.smoothness);
}

SOTTO_DECL void running_mean::add(double value) noexcept {
    const double share = (std::max)(1.0 / static_cast<double>(++count_), 1.0 - keep_);
    const double off = value - mean_;
    mean_ += share * off;
    spread_ = (1.0 - share) * (spread_ + share * off * off);
    squared_shares_ = (1.0 - share) * (1.0 - share) * squared_shares_ + share * share;
}

SOTTO_DECL double running_mean::standard_error() const noexcept {
    if (!(squared_shares_ < 1.0)) return std::numeric_limits<double>::infinity();
    return std::sqrt(spread_ * squared_shares_ / (1.0 - squared_shares_));
}

SOTTO_DECL void landscape_estimate::see_gradients(double mean_of_squares, double square_of_mean,
                                                  int ranks) noexcept {
    const double n = ranks;
    const double noise = ranks > 1 ? n / (n - 1.0) * (mean_of_squares - square_of_mean) : 0.0;
    noise_.add(noise);
    squared_gradient_.add(square_of_mean - noise / n);
}

SOTTO_DECL void landscape_estimate::see_differences(double gradients_along,
                                                    double squared_distance) noexcept {
    if (!(squared_distance > 0.0)) return;
    const double distance = std::sqrt(squared_distance);
    curvature_.add(gradients_along / distance);
    distance_.add(distance);
}

SOTTO_DECL landscape landscape_estimate::known() const noexcept {
    return {.smoothness = is_known() ? curvature_.value() / distance_.value()
                                     : std::numeric_limits<double>::quiet_NaN(),
            .noise = (std::max)(noise_.value(), 0.0),
            .squared_gradient = (std::max)(squared_gradient_.value(), 0.0)};
}

}  // namespace sotto::detail
