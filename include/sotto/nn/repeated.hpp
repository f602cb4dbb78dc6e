#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/layer.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {

/// The states of any number of layers of one kind, in order.
template <class State>
class repeated_state {
public:
    /// Takes the states of layers bound in order, possibly none.
    repeated_state(sotto::nn::shape input, std::vector<State> states)
        : input_(input), states_(std::move(states)) {}

    sotto::nn::shape output() const noexcept {
        return states_.empty() ? input_ : states_.back().output();
    }

    std::span<const float> activations(std::span<const float> in) const noexcept {
        return before(states_.size(), in);
    }

    std::span<const float> forward(const sotto::nn::pass& at, std::span<const float> in) {
        for (State& each : states_) in = each.forward(at, in);
        return in;
    }

    std::span<const float> backward(std::span<const float> parameters, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float> gradient,
                                    auto&& on_ready) {
        for (std::size_t i = states_.size(); i-- > 0;)
            out_gradient =
                states_[i].backward(parameters, before(i, in), out_gradient, gradient, on_ready);
        return out_gradient;
    }

private:
    // Returns the output of the first `count` layers for `in`.
    std::span<const float> before(std::size_t count, std::span<const float> in) const noexcept {
        for (std::size_t i = 0; i < count; ++i) in = states_[i].activations(in);
        return in;
    }

    sotto::nn::shape input_;
    std::vector<State> states_;
};

}  // namespace sotto::detail::nn

namespace sotto::nn {

/// A chain whose length is known only at run time. Without layers it returns its input.
///   errors  bind throws the errors of the layers
template <class Layer>
struct repeated {
    static_assert(layer<Layer>,
                  "repeated needs a layer: bind(shape, blueprint&) -> state with output, forward, "
                  "activations, backward");

    std::vector<Layer> layers;  // in order

    using state = detail::nn::repeated_state<typename Layer::state>;

    state bind(shape input, blueprint& plan) const {
        std::vector<typename Layer::state> states;
        states.reserve(layers.size());
        shape next = input;
        for (const Layer& options : layers) {
            states.push_back(options.bind(next, plan));
            next = states.back().output();
        }
        return {input, std::move(states)};
    }

    /// Describes layers by their position, starting at 1.
    void describe(auto&& field) const {
        for (std::size_t i = 0; i < layers.size(); ++i) field(std::to_string(i + 1), layers[i]);
    }
};

}  // namespace sotto::nn
