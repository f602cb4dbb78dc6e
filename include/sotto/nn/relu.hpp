#pragma once

#include <cstdint>
#include <span>

#include "sotto/kernels/detail/nn/elementwise.hpp"
#include "sotto/nn/detail/activation.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/rows.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// Cuts off what is negative. The slope at 0 is 0; a NaN stays one.
///   math    max(0, x)
struct relu {
    static void forward(std::span<const float> in, std::span<float> out) {
        detail::nn::map_row(in.data(), in.data(), out.data(), static_cast<std::int64_t>(in.size()),
                            [](float x, float) { return x < 0.0f ? 0.0f : x; });
    }
    static void backward(std::span<const float> out, std::span<const float> out_gradient,
                         std::span<float> in_gradient) {
        detail::kernels::where_positive(out, out_gradient, in_gradient);
    }

    using state = detail::nn::activation<relu>;
    state bind(shape input, const blueprint& plan) const { return {input, plan.has_parameters()}; }
};

}  // namespace sotto::nn
