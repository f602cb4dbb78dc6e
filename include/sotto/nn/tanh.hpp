#pragma once

#include <span>

#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/activation.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// The hyperbolic tangent, into (-1, 1).
///   math    tanh x;   slope 1 - y^2
struct tanh {
    static void forward(std::span<const float> in, std::span<float> out);
    static void backward(std::span<const float> out, std::span<const float> out_gradient,
                         std::span<float> in_gradient);

    using state = detail::nn::activation<tanh>;
    state bind(shape input, const blueprint& plan) const { return {input, plan.has_parameters()}; }
};

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/tanh.ipp"
#endif
