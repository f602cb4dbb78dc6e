#pragma once

#include <span>

#include "sotto/kernels/detail/nn/squash.hpp"
#include "sotto/nn/detail/activation.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/shape.hpp"
#include "sotto/nn/xtensor.hpp"

namespace sotto::nn {

/// Squeezes into (-1, 1).
///   math    tanh x;   slope 1 - y^2
struct tanh {
    static void forward(std::span<const float> in, std::span<float> out) {
        detail::kernels::tanh(in, out);
    }
    static void backward(std::span<const float> out, std::span<const float> out_gradient,
                         std::span<float> in_gradient) {
        const auto y = as_vector(out);
        const auto dy = as_vector(out_gradient);
        xt::noalias(as_vector(in_gradient)) = dy * (1.0f - y * y);
    }

    using state = detail::nn::activation<tanh>;
    state bind(shape input, const blueprint& plan) const { return {input, plan.has_parameters()}; }
};

}  // namespace sotto::nn
