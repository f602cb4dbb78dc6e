#pragma once

#include "sotto/nn/relu.hpp"

#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/nn/elementwise.hpp"
#include "sotto/nn/detail/rows.hpp"

namespace sotto::nn {

SOTTO_DECL void relu::forward(std::span<const float> in, std::span<float> out) {
    detail::nn::map_row(in.data(), in.data(), out.data(), static_cast<std::int64_t>(in.size()),
                        [](float x, float) { return x < 0.0f ? 0.0f : x; });
}

SOTTO_DECL void relu::backward(std::span<const float> out, std::span<const float> out_gradient,
                               std::span<float> in_gradient) {
    detail::kernels::where_positive(out, out_gradient, in_gradient);
}

}  // namespace sotto::nn
