#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/layer.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {

/// The state of a layer that treats each plane of an example as an example. Nothing is copied,
/// because planes are contiguous like examples.
template <class State>
class rowwise_state {
public:
    /// Takes the number of planes and the state that processes each.
    rowwise_state(std::int64_t rows, State each) : rows_(rows), each_(std::move(each)) {}

    sotto::nn::shape output() const noexcept { return {rows_, 1, each_.output().size()}; }

    std::span<const float> activations(std::span<const float> in) const noexcept {
        return each_.activations(in);
    }

    std::span<const float> forward(const sotto::nn::pass& at, std::span<const float> in) {
        return each_.forward(at, in);
    }

    std::span<const float> backward(std::span<const float> parameters, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float> gradient,
                                    auto&& on_ready) {
        return each_.backward(parameters, in, out_gradient, gradient, on_ready);
    }

private:
    std::int64_t rows_;
    State each_;
};

}  // namespace sotto::detail::nn

namespace sotto::nn {

/// Applies one layer to each position of a sequence: `rowwise{dense{.outputs = 65}}`.
///   shape   in: T x height x width;  each of the T planes is an example 1 x height x width of the
///           inner layer;  out: T x 1 x the inner layer's outputs
///   errors  bind throws the errors of the inner layer
template <class Layer>
struct rowwise {
    static_assert(layer<Layer>,
                  "rowwise needs a layer: bind(shape, blueprint&) -> state with output, forward, "
                  "activations, backward");

    Layer each;  // for one position

    /// Takes the layer for one position.
    explicit rowwise(Layer inner) : each(std::move(inner)) {}

    using state = detail::nn::rowwise_state<typename Layer::state>;

    state bind(shape input, blueprint& plan) const {
        check_shape("rowwise", input);
        state bound{input.channels, each.bind({1, input.height, input.width}, plan)};
        check_shape("rowwise", bound.output());
        return bound;
    }

    void describe(auto&& field) const { field("each", each); }
};

}  // namespace sotto::nn
