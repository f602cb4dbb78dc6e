#pragma once

#include "sotto/optimizers/sgd.hpp"

#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/update/entries.hpp"
#include "sotto/kernels/detail/update/updates.hpp"

namespace sotto::detail {

SOTTO_DECL void check_rate(const char* policy, const double& rate) {
    require_option(policy, "learning_rate", rate, allowed::at_least(0.0));
}

SOTTO_DECL void check_share(const char* policy, const char* option, const double& value) {
    require_option(policy, option, value, allowed::at_least(0.0).below(1.0));
}

SOTTO_DECL void check_decay(const char* policy, const double& decay) {
    require_option(policy, "weight_decay", decay, allowed::at_least(0.0));
}

SOTTO_DECL float rate_of_step(const char* policy, double learning_rate, double factor) {
    const double rate = learning_rate * factor;
    require_option(policy, "learning_rate, multiplied by its schedules,", rate,
                   allowed::at_least(0.0));
    return static_cast<float>(rate);
}

SOTTO_DECL float decay_of(const tensor& t, double decay) noexcept {
    return t.kind == tensor_kind::weight ? static_cast<float>(decay) : 0.0f;
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL sgd::state::state(const sgd& options, const layout& tensors)
    : options_(options), tensors_(tensors) {
    detail::check_rate("sgd", options.learning_rate);
    detail::check_decay("sgd", options.weight_decay);
    require_option("sgd", "decay_momentum", options.decay_momentum,
                   detail::allowed::at_least(0.0).below(1.0).or_exactly(as_exchanged));
    if (options.decay_momentum != as_exchanged) of_decay_.momentum = options.decay_momentum;
    if (options.weight_decay > 0.0) decay_.resize(static_cast<std::size_t>(tensors.size()));
}

SOTTO_DECL void sgd::state::follow_momentum(const detail::carried_momentum& carried) noexcept {
    if (options_.decay_momentum == as_exchanged) of_decay_ = carried;
}

SOTTO_DECL void sgd::state::begin_step(const step_info& step, std::span<const float>) {
    rate_ = detail::rate_of_step("sgd", options_.learning_rate, step.rate_factor);
}

SOTTO_DECL void sgd::state::update(const tensor& t, std::span<float> parameters,
                                   std::span<const float> gradient) noexcept {
    update_part(t, 0, parameters, gradient);
}

SOTTO_DECL void sgd::state::update_part(const tensor& t, std::int64_t first,
                                        std::span<float> parameters,
                                        std::span<const float> gradient) noexcept {
    if (const float decay = detail::decay_of(t, options_.weight_decay); decay > 0.0f)
        detail::kernels::descend_with_decay(
            rate_, decay, static_cast<float>(of_decay_.momentum), of_decay_.nesterov, parameters,
            gradient,
            t.of(std::span(decay_)).subspan(static_cast<std::size_t>(first), parameters.size()));
    else
        detail::kernels::descend(rate_, parameters, gradient);
}

SOTTO_DECL std::optional<float> sgd::state::plain_rate(const tensor& t) const noexcept {
    if (detail::decay_of(t, options_.weight_decay) > 0.0f) return std::nullopt;
    return rate_;
}

SOTTO_DECL void sgd::state::update_at(const tensor&, std::span<float> parameters,
                                      std::span<const float> gradient,
                                      std::span<const std::uint32_t> indices) noexcept {
    detail::kernels::descend_at(rate_, parameters, gradient, indices);
}

SOTTO_DECL void sgd::state::update_entries(const tensor&, std::span<float> parameters,
                                           std::span<const std::uint32_t> indices,
                                           std::span<const float> values) noexcept {
    detail::kernels::descend_values_at(rate_, parameters, indices, values);
}

}  // namespace sotto
