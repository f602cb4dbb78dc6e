#pragma once

#include "sotto/nn/tanh.hpp"

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/nn/sigmoid_tanh.hpp"
#include "sotto/nn/xtensor.hpp"

namespace sotto::nn {

SOTTO_DECL void tanh::forward(std::span<const float> in, std::span<float> out) {
    detail::kernels::tanh(in, out);
}

SOTTO_DECL void tanh::backward(std::span<const float> out, std::span<const float> out_gradient,
                               std::span<float> in_gradient) {
    const auto y = as_vector(out);
    const auto dy = as_vector(out_gradient);
    xt::noalias(as_vector(in_gradient)) = dy * (1.0f - y * y);
}

}  // namespace sotto::nn
