#pragma once

#include "sotto/compressors/momentum_corrected.hpp"

#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/update/momentum.hpp"
#include "sotto/kernels/dgc_step.hpp"

namespace sotto {

SOTTO_DECL momentum_corrected::state::state(const momentum_corrected& options,
                                            const layout& tensors)
    : options_(options),
      tensors_(tensors),
      velocity_(tensors),
      accumulated_(tensors),
      returned_(tensors) {
    require_option("momentum_corrected", "momentum", options.momentum,
                   detail::allowed::at_least(0.0).below(1.0));
    require_option("momentum_corrected", "mask_from_sparsity", options.mask_from_sparsity,
                   detail::allowed::at_least(0.0).at_most(1.0));
}

SOTTO_DECL std::span<const float> momentum_corrected::state::accumulate(
    const tensor& t, std::span<const float> gradient, float scale) noexcept {
    const auto accumulated = accumulated_.next(t);
    detail::kernels::accumulate_velocity(
        {.momentum = momentum(), .nesterov = options_.nesterov, .gradient_scale = scale}, gradient,
        velocity_.committed(t), accumulated_.committed(t), velocity_.next(t), accumulated);
    return accumulated;
}

SOTTO_DECL void momentum_corrected::state::give_back(const tensor& t,
                                                     std::span<const std::uint32_t> indices,
                                                     std::span<const float> rests) noexcept {
    const auto accumulated = accumulated_.next(t);
    for (std::size_t j = 0; j < indices.size(); ++j) accumulated[indices[j]] = rests[j];
}

SOTTO_DECL void momentum_corrected::state::take(const tensor& t,
                                                std::span<const std::uint32_t> indices,
                                                std::span<const float> sent,
                                                double sparsity) noexcept {
    const auto accumulated = accumulated_.next(t);
    for (std::size_t j = 0; j < indices.size(); ++j) accumulated[indices[j]] -= sent[j];
    if (!masks(sparsity)) return;
    const auto velocity = velocity_.next(t);
    for (const std::uint32_t i : indices) velocity[i] = 0.0f;
}

SOTTO_DECL void momentum_corrected::state::take_back(const tensor& t,
                                                     std::span<const std::uint32_t> indices,
                                                     std::span<const float> values) noexcept {
    returned_.keep(t, {indices, values});
}

SOTTO_DECL void momentum_corrected::state::after_sum(const tensor& t,
                                                     std::span<float> sum) noexcept {
    detail::kernels::apply_momentum(momentum(), options_.nesterov, velocity_.committed(t),
                                    velocity_.next(t), sum);
}

SOTTO_DECL void momentum_corrected::state::commit() noexcept {
    velocity_.commit();
    accumulated_.commit();
    returned_.add_to(tensors_, accumulated_);
}

SOTTO_DECL void momentum_corrected::state::rollback() noexcept {
    velocity_.rollback();
    accumulated_.rollback();
    returned_.forget();
}

SOTTO_DECL std::span<const float> momentum_corrected::state::velocity(
    const tensor& t) const noexcept {
    return velocity_.committed(t);
}

SOTTO_DECL std::span<const float> momentum_corrected::state::unsent(
    const tensor& t) const noexcept {
    return accumulated_.committed(t);
}

SOTTO_DECL bool momentum_corrected::state::masks(double sparsity) const noexcept {
    return options_.mask && sparsity >= options_.mask_from_sparsity;
}

}  // namespace sotto
