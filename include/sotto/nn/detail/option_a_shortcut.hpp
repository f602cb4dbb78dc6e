#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "sotto/core/errors.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/detail/rows.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {

/// The parameter-free shortcut between stages of a residual network, to more channels and fewer
/// pixels.
///   math    y[c, p] = x[c, stride p] for the input's channels, 0 for the additional ones
///   shape   out: channels x ceil(height / stride) x ceil(width / stride)
///   cost    one read of the kept pixels and one write;  none if the shape does not change, in
///           which case it returns the input itself
///   errors  bind throws invalid_option: fewer channels than the input, stride below 1
///   source  He, Zhang, Ren, Sun 2016, Deep residual learning, arXiv:1512.03385, section 3.3,
///           option A
struct option_a_shortcut {
    std::int64_t channels = 1;  // of the output, at least the input's
    std::int64_t stride = 1;    // distance between kept pixels

    class state;
    state bind(sotto::nn::shape input, const sotto::nn::blueprint& plan) const;

    void describe(auto&& field) const {
        field("channels", channels);
        field("stride", stride);
    }
};

class option_a_shortcut::state {
public:
    sotto::nn::shape output() const noexcept { return output_; }

    std::span<const float> activations(std::span<const float> in) const noexcept;

    std::span<const float> forward(const sotto::nn::pass&, std::span<const float> in);

    std::span<const float> backward(std::span<const float>, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float>, auto&&) {
        if (output_ == input_) return out_gradient;
        if (!needs_in_gradient_) return {};
        const std::span<float> in_gradient =
            in_gradient_.take(static_cast<std::int64_t>(in.size()));
        std::fill(in_gradient.begin(), in_gradient.end(), 0.0f);
        for (std::int64_t n = 0; n < examples_in(in, input_); ++n) {
            const block_of<float> to{in_gradient.data() + n * input_.size(), stride_ * input_.width,
                                     stride_};
            each_channel(to, out_gradient.data() + n * output_.size(),
                         [this](const auto& dx, const float* dy) {
                             copy_block({dy, output_.width, 1}, dx, output_.height, output_.width);
                         });
        }
        return in_gradient;
    }

private:
    friend struct option_a_shortcut;

    void each_channel(auto block, auto* values, auto&& copy) const {
        for (std::int64_t c = 0; c < input_.channels; ++c) {
            copy(block, values);
            block.first += input_.plane();
            values += output_.plane();
        }
    }

    sotto::nn::shape input_;
    sotto::nn::shape output_;
    std::int64_t stride_ = 1;
    bool needs_in_gradient_ = true;
    buffer<> out_;
    buffer<> in_gradient_;
};

inline option_a_shortcut::state option_a_shortcut::bind(sotto::nn::shape input,
                                                        const sotto::nn::blueprint& plan) const {
    check_shape("option_a_shortcut", input);
    sotto::nn::check_option("option_a_shortcut", "stride", stride);
    if (channels < input.channels)
        throw invalid_option("option_a_shortcut: channels is " + std::to_string(channels) +
                             "; expected at least the input's, " + std::to_string(input.channels));
    state bound;
    bound.input_ = input;
    bound.output_ = {channels, (input.height - 1) / stride + 1, (input.width - 1) / stride + 1};
    check_shape("option_a_shortcut", bound.output_);
    bound.stride_ = stride;
    bound.needs_in_gradient_ = plan.has_parameters();
    return bound;
}

}  // namespace sotto::detail::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/detail/option_a_shortcut.ipp"
#endif
