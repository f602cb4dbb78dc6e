#pragma once

#include "sotto/optimizers/adamw.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/optimizers/sgd.hpp"

namespace sotto {

SOTTO_DECL adamw::state::state(const adamw& options, const layout& tensors)
    : options_(options),
      tensors_(tensors),
      mean_names_("adamw/mean/", tensors),
      square_names_("adamw/square/", tensors),
      mean_(static_cast<std::size_t>(tensors.size())),
      square_(static_cast<std::size_t>(tensors.size())) {
    detail::check_rate("adamw", options.learning_rate);
    detail::check_share("adamw", "beta1", options.beta1);
    detail::check_share("adamw", "beta2", options.beta2);
    detail::check_decay("adamw", options.weight_decay);
    require_option("adamw", "epsilon", options.epsilon, detail::allowed::above(0.0));
}

SOTTO_DECL void adamw::state::begin_step(const step_info& step, std::span<const float>) {
    const double t = static_cast<double>(steps_ + 1);
    step_ = {.rate = detail::rate_of_step("adamw", options_.learning_rate, step.rate_factor),
             .decay = 0.0f,
             .beta1 = options_.beta1,
             .beta2 = options_.beta2,
             .epsilon = static_cast<float>(options_.epsilon),
             .correction1 = static_cast<float>(1.0 / (1.0 - std::pow(options_.beta1, t))),
             .correction2 = static_cast<float>(1.0 / (1.0 - std::pow(options_.beta2, t)))};
}

SOTTO_DECL void adamw::state::update(const tensor& t, std::span<float> parameters,
                                     std::span<const float> gradient) noexcept {
    step_.decay = detail::decay_of(t, options_.weight_decay);
    detail::kernels::descend_adamw(step_, parameters, gradient, t.of(std::span(mean_)),
                                   t.of(std::span(square_)));
}

}  // namespace sotto
