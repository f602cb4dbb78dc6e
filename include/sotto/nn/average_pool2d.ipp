#pragma once

#include "sotto/nn/average_pool2d.hpp"

#include "sotto/core/config.hpp"

namespace sotto::nn {

SOTTO_DECL std::span<const float> average_pool2d::state::activations(
    std::span<const float> in) const noexcept {
    return out_.first(examples_in(in, input_) * output_.size());
}

SOTTO_DECL std::span<const float> average_pool2d::state::forward(const pass&,
                                                                 std::span<const float> in) {
    const std::int64_t batch = examples_in(in, input_);
    const std::span<float> out = out_.take(batch * output_.size());
    float* y = out.data();
    each_window(batch, [&](std::int64_t corner) {
        float sum = 0.0f;
        for (std::int64_t i = 0; i < height_; ++i)
            for (std::int64_t j = 0; j < width_; ++j)
                sum += in[static_cast<std::size_t>(corner + i * input_.width + j)];
        *y++ = sum * share();
    });
    return out;
}

}  // namespace sotto::nn
