#pragma once

#include <span>

#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/activation.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// Replaces negative values by 0. The slope at 0 is 0; NaN stays NaN.
///   math    max(0, x)
struct relu {
    static void forward(std::span<const float> in, std::span<float> out);
    static void backward(std::span<const float> out, std::span<const float> out_gradient,
                         std::span<float> in_gradient);

    using state = detail::nn::activation<relu>;
    state bind(shape input, const blueprint& plan) const { return {input, plan.has_parameters()}; }
};

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/relu.ipp"
#endif
