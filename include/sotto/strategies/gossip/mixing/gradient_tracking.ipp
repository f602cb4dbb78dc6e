#pragma once

#include "sotto/strategies/gossip/mixing/gradient_tracking.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/averaging.hpp"

namespace sotto::mixing {

SOTTO_DECL gradient_tracking::state::state(const layout& tensors) {
    for (auto* all : {&mixed_, &followed_, &before_, &now_})
        all->resize(static_cast<std::size_t>(tensors.size()));
}

SOTTO_DECL void gradient_tracking::state::direct(const tensor& t, std::span<float> gradient) {
    const auto g = t.of(std::span(now_)), y = t.of(std::span(followed_));
    std::copy(gradient.begin(), gradient.end(), g.begin());
    detail::kernels::average(
        1.0f, gradient,
        std::array{detail::kernels::weighted_values{1.0f, t.of(std::span<const float>(mixed_))},
                   detail::kernels::weighted_values{-1.0f, t.of(std::span<const float>(before_))}});
    std::copy(gradient.begin(), gradient.end(), y.begin());
}

SOTTO_DECL void gradient_tracking::state::commit() noexcept {
    before_.swap(now_);
    mixed_.swap(followed_);
}

}  // namespace sotto::mixing
