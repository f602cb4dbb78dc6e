#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"

namespace sotto::detail {
struct ready_probe {
    void operator()(const tensor&) const {}
};
}  // namespace sotto::detail

namespace sotto {

/// Where gradients come from. It holds no parameters: it is handed a span and computes the gradient
/// there, so that strategies may ask for it at any point (an average, a teacher, the parameters a
/// worker pulled some time ago).
///   batch_type                       what one step reads; the data set given to `fit` makes them
///   layout()                         names, shapes and places of the parameters: the same on every
///                                    rank
///   initialise(parameters, random)   starting values: the same on every rank for the same stream
///   gradient(parameters, batch, out, on_ready) -> double
///       writes the gradient of the batch's mean loss to `out` and returns that loss; calls
///       on_ready(tensor) once for each tensor as soon as its part of `out` is final (usually last
///       to first), and touches that part no more. Tensors never announced are taken as final on
///       return. Allocates nothing once a batch of the largest size was seen.
///
/// A model may have more:
///   reseed(random)                   a stream of its own for the round that begins, split by step
///                                    and rank: for whatever it draws (dropout)
///   buffers() -> span<float>         what it keeps besides parameters and does not learn by
///   buffer_layout() -> layout        gradients (running statistics), the names of it, and back to
///   reset_buffers()                  its start. Every rank keeps its own; a failed round leaves no
///                                    trace in it, an evaluation sees the mean over the ranks
///   describe(field)                  says what it is, field(name, value): ranks compare it, and
///                                    those who read published models, but for `loss` and
///                                    `begins_with`
///   meanwhile(advance)               does what it can while gradients travel: a strategy may call
///                                    it once all of a round's are on their way. Between pieces of
///                                    work it calls advance(), by which they go on
template <class M>
concept gradient_source = requires(M& model, const M& fixed, std::span<const float> parameters,
                                   std::span<float> out, random_stream random,
                                   const typename M::batch_type& batch,
                                   detail::ready_probe on_ready) {
    { fixed.layout() } -> std::convertible_to<const layout&>;
    fixed.initialise(out, random);
    { model.gradient(parameters, batch, out, on_ready) } -> std::convertible_to<double>;
};

}  // namespace sotto

namespace sotto::detail {
/// Gives a model the time in which gradients travel.
template <gradient_source Model, class Advance>
void use_the_time(Model& model, Advance advance) {
    if constexpr (requires { model.meanwhile(advance); }) model.meanwhile(advance);
}
}  // namespace sotto::detail

namespace sotto {

/// A gradient source that classifies: it shows the logits it computed on the way, and accepts a
/// gradient with respect to them from elsewhere (a teacher). Batches show their labels.
///   outputs()                                         logits for each label
///   forward(parameters, batch) -> span<const float>   logits, labels x outputs() row-major, as in
///                                                     training; valid until the next call
///   backward(parameters, batch, logits_gradient, out, on_ready)   the rest of `gradient`, after
///                                                                 forward on the batch
///   predict(parameters, batch) -> span<const float>   logits as in evaluation
template <class M>
concept predictor = gradient_source<M> &&
    requires(M& model, const M& fixed, std::span<const float> parameters, std::span<float> out,
             const typename M::batch_type& batch, detail::ready_probe on_ready) {
    { fixed.outputs() } -> std::convertible_to<std::int64_t>;
    { model.forward(parameters, batch) } -> std::convertible_to<std::span<const float>>;
    model.backward(parameters, batch, parameters, out, on_ready);
    { model.predict(parameters, batch) } -> std::convertible_to<std::span<const float>>;
    { batch.labels() } -> std::convertible_to<std::span<const std::int32_t>>;
};

}  // namespace sotto

namespace sotto::detail {

/// A gradient source with buffers: see gradient_source.
template <class M>
concept with_buffers = requires(M& model, const M& fixed) {
    { model.buffers() } -> std::convertible_to<std::span<float>>;
    { fixed.buffer_layout() } -> std::convertible_to<const layout&>;
    model.reset_buffers();
};

}  // namespace sotto::detail
