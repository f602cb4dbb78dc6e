#pragma once

#include "sotto/staleness/delay_compensation.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/update/delay_compensation.hpp"
#include "sotto/kernels/detail/update/entries.hpp"
#include "sotto/kernels/detail/update/pushed_step.hpp"

namespace sotto::detail {

SOTTO_DECL void check_compensation(const char* policy, const double& lambda, const double& bound) {
    require_option(policy, "lambda", lambda, allowed::at_least(0.0));
    require_option(policy, "bound", bound, allowed::at_least(0.0), ", where 0 is none");
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL void delay_compensation::state::compensate(const tensor&, std::span<float> gradient,
                                                      std::span<const float> now,
                                                      std::span<const float> then) const noexcept {
    detail::kernels::compensate_delay(by_, gradient, now, then);
}

SOTTO_DECL void delay_compensation::state::compensate_part(
    const tensor& t, std::int64_t, std::span<float> gradient, std::span<const float> now,
    std::span<const float> then) const noexcept {
    compensate(t, gradient, now, then);
}

SOTTO_DECL void delay_compensation::state::compensate_at(
    const tensor&, std::span<float> values, std::span<const std::uint32_t> indices,
    std::span<const float> now, std::span<const float> then) const noexcept {
    detail::kernels::compensate_delay_at(by_, values, indices, now, then);
}

SOTTO_DECL void delay_compensation::state::descend_at(const tensor&, float rate,
                                                      std::span<float> now,
                                                      std::span<const std::uint32_t> indices,
                                                      std::span<const float> values,
                                                      std::span<const float> then) const noexcept {
    detail::kernels::descend_compensated_at(rate, by_, now, indices, values, then);
}

SOTTO_DECL void delay_compensation::state::descend(const tensor&, float rate, std::span<float> next,
                                                   std::span<const float> now, byte_view gradient,
                                                   std::span<const float> then) const noexcept {
    detail::kernels::descend_pushed(rate, by_.lambda, next, now, gradient, then);
}

SOTTO_DECL delay_compensation::state delay_compensation::bind(const layout&, int) const {
    detail::check_compensation("delay_compensation", lambda, bound);
    return state(*this);
}

}  // namespace sotto
