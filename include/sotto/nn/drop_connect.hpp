#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/detail/affine.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/dropout.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// A dense layer that drops weights at random in training: `drop_connect{{.outputs = 100}, 0.5}`.
/// The draws depend only on the pass's random stream and the layer's name.
///   math    y = (W * M) x + b. M is 0 with probability rate, otherwise 1 / (1 - rate), drawn for
///           each weight once a pass;   dW = M * (dy x^T), dx = (W * M)^T dy
///           evaluation: y = W x + b
///   shape   as dense; tensors are named after drop_connect
///   cost    as dense. Training adds one random word per weight, the products with M, and memory of
///           twice the weights. The whole batch shares one M. The paper draws one for each example,
///           which would rule out a matrix product for the batch
///   errors  bind throws invalid_option: outputs below 1, rate outside [0, 1)
///   source  Wan, Zeiler, Zhang, LeCun, Fergus 2013, Regularization of neural networks using
///           DropConnect (ICML); evaluation by the mean weights, not by the paper's sampling
struct drop_connect {
    dense inner{};      // the layer whose weights are dropped
    double rate = 0.5;  // probability of dropping a weight

    class state;
    state bind(shape input, blueprint& plan) const;

    void describe(auto&& field) const {
        field("inner", inner);
        field("rate", rate);
    }
};

class drop_connect::state {
public:
    shape output() const noexcept { return sum_.output(); }

    std::span<const float> activations(std::span<const float> in) const noexcept;

    std::span<const float> forward(const pass& at, std::span<const float> in);

    std::span<const float> backward(std::span<const float> parameters, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float> gradient,
                                    auto&& on_ready) {
        return sum_.backward(weights(parameters), in, out_gradient, gradient, on_ready,
                             [this](std::span<float> change) {
                                 if (drops_) mask(change, change);
                             });
    }

private:
    friend struct drop_connect;

    std::int64_t size() const noexcept { return sum_.weight().size; }

    void mask(std::span<const float> from, std::span<float> to) const;
    // Returns the weights of the last pass.
    std::span<const float> weights(std::span<const float> parameters) const;

    detail::nn::affine sum_;
    double rate_ = 0.0;
    std::string name_;
    bool drops_ = false;  // in the last pass
    detail::nn::buffer<> mask_;
    detail::nn::buffer<> masked_;
};

inline drop_connect::state drop_connect::bind(shape input, blueprint& plan) const {
    state bound;
    bound.name_ = plan.name("drop_connect");
    detail::nn::check_rate(bound.name_, rate);
    bound.rate_ = rate;
    bound.sum_ = {bound.name_, input, inner.outputs, inner.start, plan};
    return bound;
}

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/drop_connect.ipp"
#endif
