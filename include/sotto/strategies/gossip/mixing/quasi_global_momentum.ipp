#pragma once

#include "sotto/strategies/gossip/mixing/quasi_global_momentum.hpp"

#include <array>
#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/update/averaging.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"

namespace sotto::mixing {

SOTTO_DECL quasi_global_momentum::state::state(const quasi_global_momentum& options,
                                               const layout& tensors)
    : options_(options), followed_(static_cast<std::size_t>(tensors.size())) {
    constexpr auto share = detail::allowed::at_least(0.0).below(1.0);
    require_option("mixing::quasi_global_momentum", "momentum", options.momentum, share);
    require_option("mixing::quasi_global_momentum", "follow", options.follow, share);
}

SOTTO_DECL void quasi_global_momentum::state::direct(const tensor& t, std::span<float> gradient) {
    const auto m = static_cast<float>(options_.momentum);
    const auto q = t.of(std::span<const float>(followed_));
    if (options_.nesterov)
        detail::kernels::average(1.0f + m, gradient,
                                 std::array{detail::kernels::weighted_values{m * m, q}});
    else
        detail::kernels::subtract_scaled(gradient, -m, q);
}

SOTTO_DECL void quasi_global_momentum::state::settle(std::span<const float> parameters,
                                                     std::span<float> next, double rate) {
    if (!(rate > 0.0)) return;  // nothing was a step
    detail::kernels::move_mean(options_.follow, static_cast<float>(1.0 / rate), parameters, next,
                               followed_);
}

}  // namespace sotto::mixing
