#pragma once

#include <span>

#include "sotto/kernels/detail/nn/squash.hpp"
#include "sotto/nn/detail/activation.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/shape.hpp"
#include "sotto/nn/xtensor.hpp"

namespace sotto::nn {

/// Squeezes into (0, 1).
///   math    1 / (1 + exp(-x));   slope y (1 - y)
struct sigmoid {
    static void forward(std::span<const float> in, std::span<float> out) {
        detail::kernels::sigmoid(in, out);
    }
    static void backward(std::span<const float> out, std::span<const float> out_gradient,
                         std::span<float> in_gradient) {
        const auto y = as_vector(out);
        const auto dy = as_vector(out_gradient);
        xt::noalias(as_vector(in_gradient)) = dy * y * (1.0f - y);
    }

    using state = detail::nn::activation<sigmoid>;
    state bind(shape input, const blueprint& plan) const { return {input, plan.has_parameters()}; }
};

}  // namespace sotto::nn
