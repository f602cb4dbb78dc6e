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
#include "sotto/nn/dense.hpp"
#include "sotto/nn/dropout.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/rows.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// A dense layer that leaves out weights at random while training:
/// `drop_connect{{.outputs = 100}, 0.5}`.
///   math    y = (W * M) x + b, with M = 0 with probability rate and else 1 / (1 - rate), drawn for
///           each weight once a pass;   dW = M * (dy x^T), dx = (W * M)^T dy;
///           evaluation: y = W x + b
///   shape   as dense; tensors are named after drop_connect
///   cost    that of dense; training adds one random word a weight, the products with M, and twice
///           the weights in memory. The whole batch sees one M, where the paper draws one for each
///           example: then no matrix product could serve the batch
///   errors  bind throws invalid_option: outputs below 1, rate outside [0, 1)
///   source  Wan, Zeiler, Zhang, LeCun, Fergus 2013, Regularization of neural networks using
///           DropConnect (ICML); evaluation by the mean weights, not by the paper's sampling
/// The draws are a function of the pass's random stream and the layer's name alone.
struct drop_connect {
    dense inner{};
    double rate = 0.5;

    class state;
    state bind(shape input, blueprint& plan) const;

    void describe(auto&& field) const {
        field("inner", inner);
        field("rate", rate);
    }
};

class drop_connect::state {
public:
    shape output() const noexcept { return {outputs_, 1, 1}; }

    std::span<const float> activations(std::span<const float> in) const noexcept {
        return out_.first(examples(in) * outputs_);
    }

    std::span<const float> forward(const pass& at, std::span<const float> in) {
        drops_ = at.training && rate_ > 0.0;
        if (drops_) {
            detail::draw_mask(rate_, at.random.split(name_), mask_.take(weight_.size));
            mask(weight_.of(at.parameters), masked_.take(weight_.size));
        }
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
        const std::span<float> dw = weight_.of(gradient);
        multiply(dy.transpose(), {in, batch, inputs_}, {dw, outputs_, inputs_});
        if (drops_) mask(dw, dw);
        on_ready(std::as_const(weight_));

        if (!needs_in_gradient_) return {};
        const std::span<float> in_gradient = in_gradient_.take(batch * inputs_);
        multiply(dy, weights(parameters), {in_gradient, batch, inputs_});
        return in_gradient;
    }

private:
    friend struct drop_connect;

    std::int64_t examples(std::span<const float> in) const noexcept {
        return static_cast<std::int64_t>(in.size()) / inputs_;
    }
    void mask(std::span<const float> from, std::span<float> to) const {
        detail::map_row(from.data(), mask_.first(weight_.size).data(), to.data(), weight_.size,
                        [](float x, float factor) { return x * factor; });
    }
    // As the last pass saw them.
    matrix<const float> weights(std::span<const float> parameters) const {
        return {drops_ ? masked_.first(weight_.size) : weight_.of(parameters), outputs_, inputs_};
    }

    std::int64_t inputs_ = 1;
    std::int64_t outputs_ = 1;
    double rate_ = 0.0;
    std::string name_;
    bool needs_in_gradient_ = true;
    bool drops_ = false;  // in the last pass
    tensor weight_;
    tensor bias_;
    buffer<> mask_;
    buffer<> masked_;
    buffer<> out_;
    buffer<> in_gradient_;
};

inline drop_connect::state drop_connect::bind(shape input, blueprint& plan) const {
    state bound;
    bound.name_ = plan.name("drop_connect");
    check_shape(bound.name_, input);
    check_option(bound.name_, "outputs", inner.outputs);
    detail::check_rate(bound.name_, rate);
    bound.inputs_ = input.size();
    bound.outputs_ = inner.outputs;
    bound.rate_ = rate;
    bound.needs_in_gradient_ = plan.has_parameters();
    bound.weight_ = plan.add_weight(bound.name_, {inner.outputs, input.size()}, inner.start,
                                    input.size(), inner.outputs);
    bound.bias_ = plan.add_bias(bound.name_, inner.outputs);
    return bound;
}

}  // namespace sotto::nn
