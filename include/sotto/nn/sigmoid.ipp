#pragma once

#include "sotto/nn/sigmoid.hpp"

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/nn/sigmoid_tanh.hpp"
#include "sotto/nn/xtensor.hpp"

namespace sotto::nn {

SOTTO_DECL void sigmoid::forward(std::span<const float> in, std::span<float> out) {
    detail::kernels::sigmoid(in, out);
}

SOTTO_DECL void sigmoid::backward(std::span<const float> out, std::span<const float> out_gradient,
                                  std::span<float> in_gradient) {
    const auto y = as_vector(out);
    const auto dy = as_vector(out_gradient);
    xt::noalias(as_vector(in_gradient)) = dy * y * (1.0f - y);
}

}  // namespace sotto::nn
