#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "sotto/core/layout.hpp"
#include "sotto/nn/blas.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/buffer.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/rows.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// Every output is a weighted sum of all inputs.
///   math    y = W x + b;   dW = dy x^T, db = dy summed over the batch, dx = W^T dy
///   shape   in: any shape of n values;  out: outputs x 1 x 1;  weight: outputs x n;  bias: outputs
///   cost    2 n outputs operations an example forward, twice that backward
///   errors  bind throws invalid_option: outputs below 1
struct dense {
    std::int64_t outputs = 1;
    nn::start start = nn::start::he;

    class state;
    state bind(shape input, blueprint& plan) const;

    void describe(auto&& field) const {
        field("outputs", outputs);
        field("start", start);
    }
};

class dense::state {
public:
    shape output() const noexcept { return {outputs_, 1, 1}; }

    std::span<const float> activations(std::span<const float> in) const noexcept {
        return out_.first(examples(in) * outputs_);
    }

    std::span<const float> forward(const pass& at, std::span<const float> in) {
        const std::int64_t batch = examples(in);
        const std::span<float> out = out_.take(batch * outputs_);
        for (std::int64_t i = 0; i < batch; ++i)
            detail::copy_row(bias_.of(at.parameters).data(), out.data() + i * outputs_, outputs_);
        multiply({in, batch, inputs_}, weights(at.parameters).transpose(), {out, batch, outputs_},
                 1.0f);
        return out;
    }

    std::span<const float> backward(std::span<const float> parameters, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float> gradient,
                                    auto&& on_ready) {
        const std::int64_t batch = examples(in);
        const std::span<float> bias = bias_.of(gradient);
        std::fill(bias.begin(), bias.end(), 0.0f);
        for (std::int64_t i = 0; i < batch; ++i)
            detail::add_row(out_gradient.data() + i * outputs_, bias.data(), outputs_);
        on_ready(std::as_const(bias_));

        const matrix<const float> dy{out_gradient, batch, outputs_};
        multiply(dy.transpose(), {in, batch, inputs_}, {weight_.of(gradient), outputs_, inputs_});
        on_ready(std::as_const(weight_));

        if (!needs_in_gradient_) return {};
        const std::span<float> in_gradient = in_gradient_.take(batch * inputs_);
        multiply(dy, weights(parameters), {in_gradient, batch, inputs_});
        return in_gradient;
    }

private:
    friend struct dense;

    std::int64_t examples(std::span<const float> in) const noexcept {
        return static_cast<std::int64_t>(in.size()) / inputs_;
    }
    matrix<const float> weights(std::span<const float> parameters) const {
        return {weight_.of(parameters), outputs_, inputs_};
    }

    std::int64_t inputs_ = 1;
    std::int64_t outputs_ = 1;
    bool needs_in_gradient_ = true;
    tensor weight_;
    tensor bias_;
    buffer<> out_;
    buffer<> in_gradient_;
};

inline dense::state dense::bind(shape input, blueprint& plan) const {
    const std::string name = plan.name("dense");
    check_shape(name, input);
    check_option(name, "outputs", outputs);
    state bound;
    bound.inputs_ = input.size();
    bound.outputs_ = outputs;
    bound.needs_in_gradient_ = plan.has_parameters();
    bound.weight_ = plan.add_weight(name, {outputs, input.size()}, start, input.size(), outputs);
    bound.bias_ = plan.add_bias(name, outputs);
    return bound;
}

}  // namespace sotto::nn
