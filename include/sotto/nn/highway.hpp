#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/layer.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"
#include "sotto/nn/sigmoid.hpp"

namespace sotto::detail::nn {

/// The state of a highway connection: a layer and its gate.
template <class State, class Gate>
class highway_state {
public:
    /// Takes a layer and a gate for the same input. Without `needs_in_gradient`, backward returns
    /// nothing.
    highway_state(State layers, Gate gate, bool needs_in_gradient)
        : layers_(std::move(layers)),
          gate_(std::move(gate)),
          needs_in_gradient_(needs_in_gradient) {}

    sotto::nn::shape output() const noexcept { return layers_.output(); }

    std::span<const float> activations(std::span<const float> in) const noexcept {
        return out_.first(static_cast<std::int64_t>(in.size()));
    }

    std::span<const float> forward(const sotto::nn::pass& at, std::span<const float> in) {
        const auto size = static_cast<std::int64_t>(in.size());
        const std::span<const float> made = layers_.forward(at, in);
        const std::span<float> open = open_.take(size);
        sotto::nn::sigmoid::forward(gate_.forward(at, in), open);
        const std::span<float> out = out_.take(size);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = in[i] + open[i] * (made[i] - in[i]);
        return out;
    }

    std::span<const float> backward(std::span<const float> parameters, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float> gradient,
                                    auto&& on_ready) {
        const auto size = static_cast<std::int64_t>(in.size());
        const std::span<const float> open = open_.first(size), made = layers_.activations(in);
        const std::span<float> change = change_.take(size);
        for (std::size_t i = 0; i < change.size(); ++i)
            change[i] = out_gradient[i] * (made[i] - in[i]);
        sotto::nn::sigmoid::backward(open, change, change);
        // Bound last, so announced first.
        const std::span<const float> by_gate =
            gate_.backward(parameters, in, change, gradient, on_ready);
        // The gate's gradient in `change` was used; the layers' gradient may overwrite it.
        for (std::size_t i = 0; i < change.size(); ++i) change[i] = out_gradient[i] * open[i];
        const std::span<const float> by_layers =
            layers_.backward(parameters, in, change, gradient, on_ready);
        if (!needs_in_gradient_) return {};
        const std::span<float> sum = in_gradient_.take(size);
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] = out_gradient[i] * (1.0f - open[i]) + by_gate[i] + by_layers[i];
        return sum;
    }

private:
    State layers_;
    Gate gate_;
    bool needs_in_gradient_;
    buffer<> open_;  // t
    buffer<> out_;
    buffer<> change_;
    buffer<> in_gradient_;
};

}  // namespace sotto::detail::nn

namespace sotto::nn {

/// A layer with a gate that learns how much of its input to replace:
/// `highway{chain{dense{.outputs = 50}, relu{}}, dense{.outputs = 50}}`. The final biases of the
/// gate start at gate_bias. At -2 a new layer passes nearly 9/10 of its input through, which lets
/// deep networks start to learn.
///   math    y = t h(x) + (1 - t) x,  t = 1 / (1 + exp(-gate(x)))
///   shape   out: as in, which the layers and the gate must keep
///   cost    of both, plus four reads and two writes of the input's size; backward about as much
///           again for the gradients.  h's tensors precede the gate's in the layout
///   errors  bind throws the errors of the layers; invalid_option: layers or a gate that change the
///           shape, a gate_bias that is not finite, or not 0 for a gate that does not end with a
///           bias
///   source  Srivastava, Greff, Schmidhuber 2015, Highway networks, arXiv:1505.00387
template <class Layer, class Gate>
struct highway {
    static_assert(layer<Layer> && layer<Gate>,
                  "highway needs a layer and a gate that is one: bind(shape, blueprint&) -> state "
                  "with output, forward, activations, backward");

    Layer layers;             // h, keeps the shape
    Gate gate;                // keeps the shape as well
    double gate_bias = -2.0;  // start of the gate's final biases

    using state = detail::nn::highway_state<typename Layer::state, typename Gate::state>;

    state bind(shape input, blueprint& plan) const {
        const std::string name = plan.name("highway");
        require_option(name, "gate_bias", gate_bias, detail::allowed::any_finite());
        const bool needs_in_gradient = plan.has_parameters();
        auto made = layers.bind(input, plan);
        const std::size_t before = plan.tensors().tensors().size();
        auto open = gate.bind(input, plan);
        if (made.output() != input || open.output() != input)
            throw invalid_option(name + ": the layers put out " + to_string(made.output()) +
                                 ", the gate " + to_string(open.output()) + "; expected " +
                                 to_string(input) + ", the input's shape");
        const std::span<const tensor> of_gate = plan.tensors().tensors().subspan(before);
        if (!of_gate.empty() && of_gate.back().kind == tensor_kind::bias)
            plan.start_at(of_gate.back(), gate_bias);
        else if (gate_bias != 0.0)
            throw invalid_option(name + ": gate_bias is " + std::to_string(gate_bias) +
                                 "; expected 0, since the gate does not end with a bias");
        return {std::move(made), std::move(open), needs_in_gradient};
    }

    void describe(auto&& field) const {
        field("layers", layers);
        field("gate", gate);
        field("gate_bias", gate_bias);
    }
};
template <class Layer, class Gate>
highway(Layer, Gate) -> highway<Layer, Gate>;
template <class Layer, class Gate>
highway(Layer, Gate, double) -> highway<Layer, Gate>;

}  // namespace sotto::nn
