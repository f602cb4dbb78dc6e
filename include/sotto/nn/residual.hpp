#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/nn/elementwise.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/identity.hpp"
#include "sotto/nn/layer.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {

/// The state of a residual connection: a layer and its shortcut.
template <class State, class Shortcut>
class residual_state {
public:
    /// Takes a layer and a shortcut for the same input. Without `needs_in_gradient`, backward
    /// returns nothing.
    residual_state(State layers, Shortcut shortcut, bool rectified, bool needs_in_gradient)
        : layers_(std::move(layers)),
          shortcut_(std::move(shortcut)),
          rectified_(rectified),
          needs_in_gradient_(needs_in_gradient) {}

    sotto::nn::shape output() const noexcept { return layers_.output(); }

    std::span<const float> activations(std::span<const float> in) const noexcept {
        return out_.first(static_cast<std::int64_t>(layers_.activations(in).size()));
    }

    std::span<const float> forward(const sotto::nn::pass& at, std::span<const float> in) {
        const std::span<const float> deep = layers_.forward(at, in);
        const std::span<const float> direct = shortcut_.forward(at, in);
        const std::span<float> out = out_.take(static_cast<std::int64_t>(deep.size()));
        if (rectified_)
            kernels::rectified_sum(deep, direct, out);
        else
            kernels::sum(deep, direct, out);
        return out;
    }

    std::span<const float> backward(std::span<const float> parameters, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float> gradient,
                                    auto&& on_ready) {
        if (rectified_) {
            const std::span<float> through =
                through_.take(static_cast<std::int64_t>(out_gradient.size()));
            kernels::where_positive(activations(in), out_gradient, through);
            out_gradient = through;
        }
        // Bound last, so announced first.
        const std::span<const float> direct =
            shortcut_.backward(parameters, in, out_gradient, gradient, on_ready);
        const std::span<const float> deep =
            layers_.backward(parameters, in, out_gradient, gradient, on_ready);
        if (!needs_in_gradient_) return {};
        // In place if the shortcut returns through_'s memory, which is still in the cache.
        const auto in_size = static_cast<std::int64_t>(in.size());
        const bool ours = rectified_ && direct.data() == out_gradient.data();
        const std::span<float> sum = (ours ? through_ : in_gradient_).take(in_size);
        kernels::sum(deep, direct, sum);
        return sum;
    }

private:
    State layers_;
    Shortcut shortcut_;
    bool rectified_;
    bool needs_in_gradient_;
    buffer<> out_;
    buffer<> through_;  // gradient that passes the rectifier
    buffer<> in_gradient_;
};

}  // namespace sotto::detail::nn

namespace sotto::nn {

/// A layer that learns what to add to its input: `residual{chain{conv2d{...}, ...}}`. If the shapes
/// differ, it adds to a shortcut of the input: `residual{chain{...}, shortcut}`, where the shortcut
/// is option_a_shortcut{...} or a 1 x 1 convolution. `residual{residual{...}}` is a single
/// residual, because C++ makes a copy.
///   math    y = f(x) + x, or f(x) + shortcut(x). With `rectified`, max(0, y): a relu in the same
///           pass over memory
///   shape   out: as the layer's, which must be the shortcut's
///   cost    of both, plus a read of both results and a write; backward the same for the input's
///           gradients.  f's tensors precede the shortcut's in the layout
///   errors  bind throws the errors of the layers; invalid_option: results of different shapes
///   source  He, Zhang, Ren, Sun 2016, Deep residual learning, arXiv:1512.03385
template <class Layer, class Shortcut = identity>
struct residual {
    static_assert(layer<Layer>,
                  "residual needs a layer: bind(shape, blueprint&) -> state with output, forward, "
                  "activations, backward");
    static_assert(layer<Shortcut>,
                  "residual's shortcut must be a layer: bind(shape, blueprint&) -> state with "
                  "output, forward, activations, backward");

    Layer layers;            // f
    Shortcut shortcut{};     // added to it
    bool rectified = false;  // true: a relu follows

    using state = detail::nn::residual_state<typename Layer::state, typename Shortcut::state>;

    state bind(shape input, blueprint& plan) const {
        const std::string name = plan.name("residual");
        const bool needs_in_gradient = plan.has_parameters();
        auto deep = layers.bind(input, plan);
        auto direct = shortcut.bind(input, plan);
        if (deep.output() != direct.output())
            throw invalid_option(name + ": the layers put out " + to_string(deep.output()) +
                                 ", the shortcut " + to_string(direct.output()) +
                                 "; expected the same shape");
        return {std::move(deep), std::move(direct), rectified, needs_in_gradient};
    }

    void describe(auto&& field) const {
        field("layers", layers);
        field("shortcut", shortcut);
        field("rectified", rectified);
    }
};
template <class Layer>
residual(Layer) -> residual<Layer>;
template <class Layer, class Shortcut>
residual(Layer, Shortcut) -> residual<Layer, Shortcut>;
template <class Layer, class Shortcut>
residual(Layer, Shortcut, bool) -> residual<Layer, Shortcut>;

}  // namespace sotto::nn
