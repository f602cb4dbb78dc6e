#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "sotto/core/layout.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/blas.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/detail/rows.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {

/// The product and sum of a dense layer. Its weights are its parameters, or derived from them.
///   math    y = W x + b;   dW = dy x^T, db = dy summed over the batch, dx = W^T dy
///   shape   weight: outputs x inputs;  bias: outputs
class affine {
public:
    affine() = default;
    affine(const std::string& name, sotto::nn::shape input, std::int64_t outputs, nn::start start,
           sotto::nn::blueprint& plan);

    sotto::nn::shape output() const noexcept { return {outputs_, 1, 1}; }
    const tensor& weight() const noexcept { return weight_; }

    std::span<const float> activations(std::span<const float> in) const noexcept;

    std::span<const float> forward(std::span<const float> weights,
                                   std::span<const float> parameters, std::span<const float> in);

    /// `finish` may change the weights' gradient before it is announced.
    std::span<const float> backward(std::span<const float> weights, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float> gradient,
                                    auto&& on_ready, auto&& finish) {
        const std::int64_t batch = examples(in);
        const std::span<float> bias = bias_.of(gradient);
        std::fill(bias.begin(), bias.end(), 0.0f);
        for (std::int64_t i = 0; i < batch; ++i)
            add_row(out_gradient.data() + i * outputs_, bias.data(), outputs_);
        on_ready(std::as_const(bias_));

        const matrix<const float> dy{out_gradient, batch, outputs_};
        const std::span<float> change = weight_.of(gradient);
        multiply(dy.transpose(), {in, batch, inputs_}, {change, outputs_, inputs_});
        finish(change);
        on_ready(std::as_const(weight_));

        if (!needs_in_gradient_) return {};
        const std::span<float> in_gradient = in_gradient_.take(batch * inputs_);
        multiply(dy, rows(weights), {in_gradient, batch, inputs_});
        return in_gradient;
    }

private:
    std::int64_t examples(std::span<const float> in) const noexcept;
    matrix<const float> rows(std::span<const float> weights) const;

    std::int64_t inputs_ = 1;
    std::int64_t outputs_ = 1;
    bool needs_in_gradient_ = true;
    tensor weight_;
    tensor bias_;
    buffer<> out_;
    buffer<> in_gradient_;
};

}  // namespace sotto::detail::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/detail/affine.ipp"
#endif
