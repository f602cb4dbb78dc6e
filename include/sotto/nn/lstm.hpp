#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/detail/lstm_layer.hpp"
#include "sotto/nn/detail/rows.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// Long short-term memory: reads a sequence position by position and outputs its state after each.
/// Each sequence starts from state zero.
///   math    (i, f, g, o) = W x[t] + U h[t-1] + b;   then i, f, o = sigmoid of these, g = tanh
///           c[t] = f c[t-1] + i g;   h[t] = o tanh c[t];   h is the next layer's x
///   shape   in: T x height x width, one row of height x width values for each position; out:
///           T x 1 x hidden.  Layers are named lstm1, lstm2, ...:
///           input.weight: 4 hidden x inputs, state.weight: 4 hidden x hidden, bias: 4 hidden,
///           gates in the order i, f, g, o;  the bias of f is 1 at first
///   cost    8 hidden (inputs + hidden) T operations per example and layer forward, twice that
///           backward. Forward: one product for the inputs of all positions, and one per position
///           for its state. Backward: one product per weight for all positions. Memory per example:
///           T times 7 hidden (layers + 1) + 3 inputs floats.
///   errors  bind throws invalid_option: hidden or layers below 1
///   source  Hochreiter and Schmidhuber 1997, Long short-term memory;  forget gate: Gers,
///           Schmidhuber and Cummins 2000, Learning to forget;  its bias: Jozefowicz, Zaremba and
///           Sutskever 2015, An empirical exploration of recurrent network architectures
struct lstm {
    std::int64_t hidden = 1;                              // values of a state
    std::int64_t layers = 1;                              // number of stacked layers
    detail::nn::start start = detail::nn::start::glorot;  // of the weights

    class state;
    state bind(shape input, blueprint& plan) const;

    void describe(auto&& field) const {
        field("hidden", hidden);
        field("layers", layers);
        field("start", start);
    }
};

class lstm::state {
public:
    shape output() const noexcept { return {positions_, 1, hidden()}; }

    std::span<const float> activations(std::span<const float> in) const noexcept;

    std::span<const float> forward(const pass& at, std::span<const float> in);

    std::span<const float> backward(std::span<const float> parameters, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float> gradient,
                                    auto&& on_ready) {
        const std::int64_t batch = batch_of(in), rows = batch * positions_;
        const std::span<float> gates = gates_gradient_.take(rows * 4 * hidden());
        std::span<float> above = above_.take(rows * hidden());
        std::span<float> below = below_.take(rows * hidden());
        detail::nn::swap_axes(out_gradient.data(), above.data(), batch, positions_, hidden());
        for (std::size_t i = layers_.size(); i-- > 1; std::swap(above, below))
            layers_[i].backward(parameters, layers_[i - 1].out(rows), above, batch, gates, below,
                                gradient, on_ready);

        const std::int64_t size = needs_in_gradient_ ? rows * inputs() : 0;
        const std::span<float> turned = turned_.take(size), in_gradient = in_gradient_.take(size);
        layers_.front().backward(parameters, in_.first(rows * inputs()), above, batch, gates,
                                 turned, gradient, on_ready);
        if (needs_in_gradient_)
            detail::nn::swap_axes(turned.data(), in_gradient.data(), positions_, batch, inputs());
        return in_gradient;
    }

private:
    friend struct lstm;

    std::int64_t inputs() const noexcept { return layers_.front().inputs(); }
    std::int64_t hidden() const noexcept { return layers_.back().hidden(); }
    std::int64_t batch_of(std::span<const float> in) const noexcept;

    std::int64_t positions_ = 1;
    bool needs_in_gradient_ = true;
    std::vector<detail::nn::lstm_layer> layers_;
    detail::nn::buffer<> in_;   // positions first
    detail::nn::buffer<> out_;  // sequences first
    detail::nn::buffer<> gates_gradient_;
    detail::nn::buffer<> above_;   // gradient of a layer's output
    detail::nn::buffer<> below_;   // gradient of its input
    detail::nn::buffer<> turned_;  // gradient of the first input, positions first
    detail::nn::buffer<> in_gradient_;
};

inline lstm::state lstm::bind(shape input, blueprint& plan) const {
    check_shape("lstm", input);
    check_option("lstm", "hidden", hidden);
    check_option("lstm", "4 hidden", 4 * hidden);
    check_option("lstm", "layers", layers);
    state bound;
    bound.positions_ = input.channels;
    bound.needs_in_gradient_ = plan.has_parameters();
    check_shape("lstm", {input.channels, 1, hidden});
    for (std::int64_t i = 0; i < layers; ++i)
        bound.layers_.emplace_back(i == 0 ? input.plane() : hidden, hidden, start, plan);
    return bound;
}

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/lstm.ipp"
#endif
