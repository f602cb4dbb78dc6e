#pragma once

#include "sotto/staleness/delay_compensation_adaptive.hpp"

#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/update/delay_compensation.hpp"
#include "sotto/kernels/detail/update/entries.hpp"
#include "sotto/kernels/detail/update/pushed_step.hpp"
#include "sotto/staleness/delay_compensation.hpp"

namespace sotto {

SOTTO_DECL delay_compensation_adaptive::state::state(const delay_compensation_adaptive& options,
                                                     const layout& tensors, int workers)
    : tensors_(tensors),
      by_{.lambda = static_cast<float>(options.lambda),
          .decay = options.decay,
          .epsilon = static_cast<float>(options.epsilon),
          .bound = static_cast<float>(options.bound)},
      squares_(static_cast<std::size_t>(options.per_worker ? workers : 1),
               detail::large_vector<float>(static_cast<std::size_t>(tensors.size()))),
      scales_(squares_.size(), std::vector<double>(tensors.tensors().size(), 1.0)) {}

SOTTO_DECL double delay_compensation_adaptive::state::begin(const late_gradient& what) noexcept {
    worker_ = squares_.size() > 1 ? static_cast<std::size_t>(what.worker) : 0;
    return 1.0;
}

SOTTO_DECL void delay_compensation_adaptive::state::compensate(
    const tensor& t, std::span<float> gradient, std::span<const float> now,
    std::span<const float> then) noexcept {
    compensate_part(t, 0, gradient, now, then);
}

SOTTO_DECL void delay_compensation_adaptive::state::compensate_part(
    const tensor& t, std::int64_t first, std::span<float> gradient, std::span<const float> now,
    std::span<const float> then) noexcept {
    settle(t);
    detail::kernels::compensate_delay(
        by_, gradient, now, then, of(t).subspan(static_cast<std::size_t>(first), gradient.size()));
}

SOTTO_DECL void delay_compensation_adaptive::state::compensate_at(
    const tensor& t, std::span<float> values, std::span<const std::uint32_t> indices,
    std::span<const float> now, std::span<const float> then) noexcept {
    const float scale = decayed_scale(t);
    detail::kernels::compensate_delay_at(by_, scale, values, indices, now, then, of(t));
}

SOTTO_DECL void delay_compensation_adaptive::state::descend_at(
    const tensor& t, float rate, std::span<float> now, std::span<const std::uint32_t> indices,
    std::span<const float> values, std::span<const float> then) noexcept {
    const float scale = decayed_scale(t);
    detail::kernels::descend_compensated_at(rate, by_, scale, now, indices, values, then, of(t));
}

SOTTO_DECL void delay_compensation_adaptive::state::descend(const tensor& t, float rate,
                                                            std::span<float> next,
                                                            std::span<const float> now,
                                                            byte_view gradient,
                                                            std::span<const float> then) noexcept {
    settle(t);
    detail::kernels::descend_pushed(rate, by_, next, now, gradient, then, of(t));
}

SOTTO_DECL void delay_compensation_adaptive::state::forget(int worker) noexcept {
    if (squares_.size() > 1)
        for (float& s : squares_[static_cast<std::size_t>(worker)]) s = 0.0f;
}

SOTTO_DECL std::span<const float> delay_compensation_adaptive::state::mean_square(
    int worker) noexcept {
    settle_all(static_cast<std::size_t>(worker));
    return squares_[static_cast<std::size_t>(worker)];
}

SOTTO_DECL double& delay_compensation_adaptive::state::scale_of(const tensor& t) noexcept {
    return scales_[worker_][static_cast<std::size_t>(t.index)];
}

SOTTO_DECL float delay_compensation_adaptive::state::decayed_scale(const tensor& t) noexcept {
    double& scale = scale_of(t);
    if (by_.decay > 0.0 && by_.decay * scale < least_scale) settle(t);
    return static_cast<float>(scale *= by_.decay);
}

SOTTO_DECL void delay_compensation_adaptive::state::settle(const tensor& t) noexcept {
    double& scale = scale_of(t);
    if (scale != 1.0) detail::kernels::scale(of(t), static_cast<float>(scale));
    scale = 1.0;
}

SOTTO_DECL void delay_compensation_adaptive::state::settle_all(std::size_t worker) noexcept {
    const std::size_t present = std::exchange(worker_, worker);
    for (const tensor& t : tensors_) settle(t);
    worker_ = present;
}

SOTTO_DECL delay_compensation_adaptive::state delay_compensation_adaptive::bind(
    const layout& tensors, int workers) const {
    detail::check_compensation("delay_compensation_adaptive", lambda, bound);
    require_option("delay_compensation_adaptive", "decay", decay,
                   detail::allowed::at_least(0.0).below(1.0));
    require_option("delay_compensation_adaptive", "epsilon", epsilon, detail::allowed::above(0.0));
    return {*this, tensors, workers};
}

}  // namespace sotto
