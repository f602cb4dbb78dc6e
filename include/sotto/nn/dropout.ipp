#pragma once

#include "sotto/nn/dropout.hpp"

#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::detail::nn {

SOTTO_DECL void draw_mask(double rate, random_stream random, std::span<float> mask) {
    const auto dropped = static_cast<std::uint64_t>(std::ldexp(rate, 32));  // below 2^32
    const auto kept = static_cast<float>(1.0 / (1.0 - rate));
    for (float& factor : mask) factor = random() < dropped ? 0.0f : kept;
}

SOTTO_DECL void check_rate(const std::string& where, const double& rate) {
    require_option(where, "rate", rate, allowed::at_least(0.0).below(1.0));
}

}  // namespace sotto::detail::nn

namespace sotto::nn {

SOTTO_DECL std::span<const float> dropout::state::activations(
    std::span<const float> in) const noexcept {
    return drops_ ? out_.first(static_cast<std::int64_t>(in.size())) : in;
}

SOTTO_DECL std::span<const float> dropout::state::forward(const pass& at,
                                                          std::span<const float> in) {
    drops_ = at.training && rate_ > 0.0;
    if (!drops_) return in;
    const auto size = static_cast<std::int64_t>(in.size());
    const std::span<float> mask = mask_.take(size), out = out_.take(size);
    detail::nn::draw_mask(rate_, at.random.split(name_), mask);
    detail::kernels::product(in, mask, out);
    return out;
}

}  // namespace sotto::nn
