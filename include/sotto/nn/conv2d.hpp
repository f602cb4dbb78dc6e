#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "sotto/core/layout.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/blas.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/detail/direct_convolution.hpp"
#include "sotto/nn/detail/im2col.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// Slides square filters over the planes of an image. Each output depends on one patch of all input
/// channels.
///   math    y[o,p] = b[o] + sum over c, i, j of W[o,c,i,j] x[c, stride p + (i,j) - padding], with
///           x = 0 outside the image; without `bias` b = 0. With an example's patches as the
///           columns of X: Y = W X + b;   dW = sum dY X^T;   dX = W^T dY
///   shape   out: channels x height' x width', height' = floor((height + 2 padding - kernel) /
///           stride) + 1
///           weight: channels x input channels x kernel x kernel;   bias: channels
///   cost    2 |weight| height' width' operations per example forward, twice that backward. If
///           width' is a multiple of 8 (and, for dX, if detail::direct_convolution_back fits),
///           sotto's own kernels read the patches from the bordered image. Otherwise the patches of
///           one example at a time are written out, which fits the second-level cache, and CBLAS
///           multiplies; backward writes them again.
///   errors  bind throws invalid_option: an option below its minimum, padding >= kernel, a kernel
///           that does not fit into the padded input
struct conv2d {
    std::int64_t channels = 1;                        // channels of the output
    std::int64_t kernel = 3;                          // side of a filter
    std::int64_t stride = 1;                          // distance between patches
    std::int64_t padding = 0;                         // zeros on each side of the image
    detail::nn::start start = detail::nn::start::he;  // of the weight
    bool bias = true;                                 // superfluous before a batch_norm

    class state;
    state bind(shape input, blueprint& plan) const;

    void describe(auto&& field) const {
        field("channels", channels);
        field("kernel", kernel);
        field("stride", stride);
        field("padding", padding);
        field("start", start);
        field("bias", bias);
    }
};

class conv2d::state {
public:
    shape output() const noexcept { return output_; }

    std::span<const float> activations(std::span<const float> in) const noexcept;

    std::span<const float> forward(const pass& at, std::span<const float> in);

    std::span<const float> backward(std::span<const float> parameters, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float> gradient,
                                    auto&& on_ready) {
        const std::int64_t batch = examples_in(in, patches_.input);
        if (bias_.size > 0) {
            add_up(out_gradient, batch, bias_.of(gradient));
            on_ready(std::as_const(bias_));
        }

        const std::span<float> weight = weight_.of(gradient);
        std::fill(weight.begin(), weight.end(), 0.0f);
        const detail::nn::matrix<float> dw{weight, output_.channels, patches_.length()};
        if (direct_)
            direct_->add_weight_gradient(in, out_gradient, weight);
        else
            for (std::int64_t n = 0; n < batch; ++n)
                multiply(outputs(part(out_gradient, n, output_.size())),
                         patches_of(in, n).transpose(), dw, 1.0f);
        on_ready(std::as_const(weight_));

        if (!needs_in_gradient_) return {};
        const std::span<float> in_gradient = in_gradient_.take(batch * patches_.input.size());
        if (direct_back_) {
            direct_back_->backward(weight_.of(parameters), out_gradient, in_gradient);
            return in_gradient;
        }
        const std::span<float> columns = columns_.take(patches_.length() * output_.plane());
        for (std::int64_t n = 0; n < batch; ++n) {
            multiply(weights(parameters).transpose(),
                     outputs(part(out_gradient, n, output_.size())),
                     {columns, patches_.length(), output_.plane()});
            patches_.add(columns, part(in_gradient, n, patches_.input.size()));
        }
        return in_gradient;
    }

private:
    friend struct conv2d;

    // Sums each plane over all examples.
    void add_up(std::span<const float> out_gradient, std::int64_t batch,
                std::span<float> biases) const;

    template <class T>
    static std::span<T> part(std::span<T> all, std::int64_t n, std::int64_t size) {
        return all.subspan(static_cast<std::size_t>(n * size), static_cast<std::size_t>(size));
    }
    template <class T>
    detail::nn::matrix<T> outputs(std::span<T> example) const {
        return {example, output_.channels, output_.plane()};
    }
    detail::nn::matrix<const float> weights(std::span<const float> parameters) const;
    detail::nn::matrix<const float> patches_of(std::span<const float> in, std::int64_t n);

    detail::nn::im2col patches_;
    shape output_;
    bool needs_in_gradient_ = true;
    tensor weight_;
    tensor bias_;  // of size 0 without a bias
    std::optional<detail::nn::direct_convolution> direct_;
    std::optional<detail::nn::direct_convolution_back> direct_back_;
    detail::nn::buffer<> out_;
    detail::nn::buffer<> columns_;
    detail::nn::buffer<> in_gradient_;
};

inline conv2d::state conv2d::bind(shape input, blueprint& plan) const {
    const std::string name = plan.name("conv");
    check_shape(name, input);
    check_option(name, "channels", channels);
    state bound;
    const detail::nn::sliding_window sliding{
        .name = "kernel", .size = kernel, .stride = stride, .padding = padding};
    bound.output_ = {channels, window_positions(name, input.height, sliding),
                     window_positions(name, input.width, sliding)};
    check_shape(name, bound.output_);
    bound.patches_ = {input, bound.output_.height, bound.output_.width, kernel, stride, padding};
    bound.needs_in_gradient_ = plan.has_parameters();
    const std::int64_t area = kernel * kernel;
    bound.weight_ = plan.add_weight(name, {channels, input.channels, kernel, kernel}, start,
                                    input.channels * area, channels * area);
    if (bias) bound.bias_ = plan.add_bias(name, channels);
    const detail::nn::sliding windows{input, bound.output_, kernel, stride, padding};
    if (detail::nn::direct_convolution::fits(windows)) bound.direct_.emplace(windows);
    if (bound.needs_in_gradient_ && detail::nn::direct_convolution_back::fits(windows))
        bound.direct_back_.emplace(windows);
    return bound;
}

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/conv2d.ipp"
#endif
