#pragma once

#include "sotto/optimizers/momentum_sgd.hpp"

#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/updates.hpp"
#include "sotto/optimizers/sgd.hpp"

namespace sotto {

SOTTO_DECL momentum_sgd::state::state(const momentum_sgd& options, const layout& tensors)
    : options_(options),
      tensors_(tensors),
      names_("momentum/", tensors),
      velocity_(static_cast<std::size_t>(tensors.size())) {
    detail::check_rate("momentum_sgd", options.learning_rate);
    detail::check_share("momentum_sgd", "momentum", options.momentum);
    detail::check_decay("momentum_sgd", options.weight_decay);
}

SOTTO_DECL void momentum_sgd::state::begin_step(const step_info& step, std::span<const float>) {
    rate_ = detail::rate_of_step("momentum_sgd", options_.learning_rate, step.rate_factor);
}

SOTTO_DECL void momentum_sgd::state::update(const tensor& t, std::span<float> parameters,
                                            std::span<const float> gradient) noexcept {
    detail::kernels::descend_with_momentum(rate_, detail::decay_of(t, options_.weight_decay),
                                           static_cast<float>(options_.momentum), options_.nesterov,
                                           parameters, gradient, t.of(std::span(velocity_)));
}

}  // namespace sotto
