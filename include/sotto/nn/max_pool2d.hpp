#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// The largest value of each window; of equal ones, the first in row order.
///   math    y[p] = max over the window at p;   only the position of the maximum receives the
///           gradient
///   shape   out: height' = floor((height - window) / stride) + 1; edge values outside every window
///           are ignored
///   errors  bind throws invalid_option: window or stride below 1, a window larger than the input
struct max_pool2d {
    std::int64_t window = 2;  // side of a window
    std::int64_t stride = 2;  // distance between windows

    class state;
    state bind(shape input, const blueprint& plan) const;

    void describe(auto&& field) const {
        field("window", window);
        field("stride", stride);
    }
};

class max_pool2d::state {
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
        const std::int32_t* from =
            from_.first(static_cast<std::int64_t>(out_gradient.size())).data();
        const float* dy = out_gradient.data();
        const std::int64_t planes = examples_in(in, input_) * input_.channels;
        for (std::int64_t n = 0; n < planes; ++n) {
            float* dx = in_gradient.data() + n * input_.plane();
            for (std::int64_t p = 0; p < output_.plane(); ++p) dx[*from++] += *dy++;
        }
        return in_gradient;
    }

private:
    friend struct max_pool2d;

    struct place {
        float value;
        std::int64_t at;
    };

    place largest(const float* x, std::int64_t corner) const noexcept;

    // Handles 2 x 2 windows as a tree without branches. The largest of four noisy values is
    // unpredictable: the loop above takes 7 ns a window, this takes 2.
    place largest_of_four(const float* x, std::int64_t corner) const noexcept;

    shape input_;
    shape output_;
    std::int64_t window_ = 2;
    std::int64_t stride_ = 2;
    bool needs_in_gradient_ = true;
    detail::nn::buffer<> out_;
    detail::nn::buffer<std::int32_t> from_;  // index of each maximum in its plane
    detail::nn::buffer<> in_gradient_;
};

inline max_pool2d::state max_pool2d::bind(shape input, const blueprint& plan) const {
    check_shape("max_pool2d", input);
    state bound;
    bound.input_ = input;
    const detail::nn::sliding_window sliding{.name = "window", .size = window, .stride = stride};
    bound.output_ = {input.channels, window_positions("max_pool2d", input.height, sliding),
                     window_positions("max_pool2d", input.width, sliding)};
    bound.window_ = window;
    bound.stride_ = stride;
    bound.needs_in_gradient_ = plan.has_parameters();
    return bound;
}

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/max_pool2d.ipp"
#endif
