#pragma once

#include "sotto/nn/max_pool2d.hpp"

#include <cstddef>

#include "sotto/core/config.hpp"

namespace sotto::nn {

SOTTO_DECL std::span<const float> max_pool2d::state::activations(
    std::span<const float> in) const noexcept {
    return out_.first(examples_in(in, input_) * output_.size());
}

SOTTO_DECL std::span<const float> max_pool2d::state::forward(const pass&,
                                                             std::span<const float> in) {
    const std::int64_t planes = examples_in(in, input_) * input_.channels;
    const std::span<float> out = out_.take(planes * output_.plane());
    const std::span<std::int32_t> from = from_.take(planes * output_.plane());
    std::size_t next = 0;
    for (std::int64_t n = 0; n < planes; ++n) {
        const float* x = in.data() + n * input_.plane();
        for (std::int64_t row = 0; row < output_.height; ++row)
            for (std::int64_t column = 0; column < output_.width; ++column, ++next) {
                const std::int64_t corner = row * stride_ * input_.width + column * stride_;
                const place best = window_ == 2 ? largest_of_four(x, corner) : largest(x, corner);
                out[next] = best.value;
                from[next] = static_cast<std::int32_t>(best.at);
            }
    }
    return out;
}

SOTTO_DECL max_pool2d::state::place max_pool2d::state::largest(const float* x,
                                                               std::int64_t corner) const noexcept {
    place best{x[corner], corner};
    for (std::int64_t i = 0; i < window_; ++i)
        for (std::int64_t j = 0; j < window_; ++j) {
            const std::int64_t at = corner + i * input_.width + j;
            if (x[at] > best.value) best = {x[at], at};
        }
    return best;
}

SOTTO_DECL max_pool2d::state::place max_pool2d::state::largest_of_four(
    const float* x, std::int64_t corner) const noexcept {
    const float* upper = x + corner;
    const float* lower = upper + input_.width;
    const float most_upper = (std::max)(upper[0], upper[1]),
                most_lower = (std::max)(lower[0], lower[1]);
    const std::int64_t in_upper = upper[1] > upper[0], in_lower = lower[1] > lower[0];
    const std::int64_t is_lower = most_lower > most_upper;
    return {(std::max)(most_upper, most_lower),
            corner + in_upper + is_lower * (input_.width + in_lower - in_upper)};
}

}  // namespace sotto::nn
