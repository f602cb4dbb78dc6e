#pragma once

#include "sotto/strategies/gossip/mixing/d_squared.hpp"

#include <algorithm>
#include <array>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/averaging.hpp"

namespace sotto::mixing {

SOTTO_DECL void d_squared::state::correct(const tensor& t, std::span<const float> parameters,
                                          std::span<float> next) {
    const auto psi = t.of(std::span(now_));
    std::copy(next.begin(), next.end(), psi.begin());
    if (has_before_ == 0) return;
    detail::kernels::average(
        1.0f, next,
        std::array{detail::kernels::weighted_values{1.0f, parameters},
                   detail::kernels::weighted_values{-1.0f, t.of(std::span<const float>(before_))}});
}

SOTTO_DECL void d_squared::state::commit() noexcept {
    before_.swap(now_);
    has_before_ = 1;
}

}  // namespace sotto::mixing
