#pragma once

#include <concepts>
#include <span>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {
struct ignore_ready {
    void operator()(const tensor&) const {}
};

/// See layer.
template <class S>
concept layer_state = std::copyable<S> &&
    requires(S& state, const S& fixed, std::span<const float> read, std::span<float> write,
             const sotto::nn::pass& at, ignore_ready on_ready) {
    { fixed.output() } -> std::same_as<sotto::nn::shape>;
    { state.forward(at, read) } -> std::same_as<std::span<const float>>;
    { fixed.activations(read) } -> std::same_as<std::span<const float>>;
    { state.backward(read, read, read, write, on_ready) } -> std::same_as<std::span<const float>>;
};

}  // namespace sotto::detail::nn

/// Layers of networks, their memory and the passes through them.
namespace sotto::nn {

/// One layer of a network: options, a plain value, which the network binds to an input shape.
///   bind(input, blueprint) -> state   adds the layer's tensors to the blueprint; throws
///                                     invalid_option if the options are invalid or do not fit the
///                                     input
///
/// The state holds no parameters, only the memory between a forward pass and its backward pass, for
/// the largest batch so far. Examples are contiguous, channels x height x width.
///   output()                              shape of one example after the layer
///   forward(pass, in) -> values           at the pass's parameters, of the whole network; `in` is
///                                         any number of examples; valid until the next call
///   activations(in) -> those values       `in` as given to forward
///   backward(parameters, in, out_gradient, gradient, on_ready) -> gradient with respect to `in`
///       after forward on the same `in`. Writes (does not add) the layer's tensors in `gradient`
///       and announces each once, last to first. If no layer before this one has parameters, it may
///       return any span: the result is not read
template <class L>
concept layer = std::copyable<L> && requires(const L& options, shape input, blueprint& plan) {
    { options.bind(input, plan) } -> detail::nn::layer_state;
};

}  // namespace sotto::nn
