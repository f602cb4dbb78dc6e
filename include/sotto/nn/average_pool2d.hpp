#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// The mean of each window.
///   math    y[p] = mean over the window at p;   dx = the sum of dy / (window area) over the
///           windows that contain x
///   shape   out: height' = floor((height - window) / stride) + 1; edge values outside every window
///           are ignored
///   errors  bind throws invalid_option: window or stride below 1, a window larger than the input
struct average_pool2d {
    std::int64_t window = 2;  // side of a window
    std::int64_t stride = 2;  // distance between windows

    class state;
    state bind(shape input, const blueprint& plan) const;

    void describe(auto&& field) const {
        field("window", window);
        field("stride", stride);
    }
};

class average_pool2d::state {
public:
    shape output() const noexcept { return output_; }

    std::span<const float> activations(std::span<const float> in) const noexcept;

    std::span<const float> forward(const pass&, std::span<const float> in);

    std::span<const float> backward(std::span<const float>, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float>, auto&&) {
        if (!needs_in_gradient_) return {};
        const std::span<float> in_gradient =
            in_gradient_.take(static_cast<std::int64_t>(in.size()));
        std::fill(in_gradient.begin(), in_gradient.end(), 0.0f);
        const float* dy = out_gradient.data();
        each_window(examples_in(in, input_), [&](std::int64_t corner) {
            const float each = *dy++ * share();
            for (std::int64_t i = 0; i < height_; ++i)
                for (std::int64_t j = 0; j < width_; ++j)
                    in_gradient[static_cast<std::size_t>(corner + i * input_.width + j)] += each;
        });
        return in_gradient;
    }

private:
    friend struct average_pool2d;
    friend struct global_average_pool;

    float share() const noexcept { return 1.0f / static_cast<float>(height_ * width_); }

    void each_window(std::int64_t batch, auto&& see) const {
        for (std::int64_t n = 0; n < batch * input_.channels; ++n)
            for (std::int64_t row = 0; row < output_.height; ++row)
                for (std::int64_t column = 0; column < output_.width; ++column)
                    see((n * input_.height + row * stride_) * input_.width + column * stride_);
    }

    shape input_;
    shape output_;
    std::int64_t height_ = 1;  // of the window
    std::int64_t width_ = 1;
    std::int64_t stride_ = 1;
    bool needs_in_gradient_ = true;
    detail::nn::buffer<> out_;
    detail::nn::buffer<> in_gradient_;
};

inline average_pool2d::state average_pool2d::bind(shape input, const blueprint& plan) const {
    check_shape("average_pool2d", input);
    state bound;
    bound.input_ = input;
    const detail::nn::sliding_window sliding{.name = "window", .size = window, .stride = stride};
    bound.output_ = {input.channels, window_positions("average_pool2d", input.height, sliding),
                     window_positions("average_pool2d", input.width, sliding)};
    bound.height_ = bound.width_ = window;
    bound.stride_ = stride;
    bound.needs_in_gradient_ = plan.has_parameters();
    return bound;
}

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/average_pool2d.ipp"
#endif
