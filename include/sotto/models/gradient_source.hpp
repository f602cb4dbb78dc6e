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

/// A model that computes gradients. It holds no parameters but receives them as a span. A strategy
/// can thus evaluate it at any point: an average, a teacher, or parameters that a worker pulled
/// earlier.
///   batch_type                       input of one step; the data set given to `fit` makes it
///   layout()                         names, shapes and places of the parameters: the same on every
///                                    rank
///   initialise(parameters, random)   writes starting values: the same on every rank for the same
///                                    stream
///   gradient(parameters, batch, out, on_ready) -> double
///       writes the gradient of the batch's mean loss to `out` and returns that loss. Calls
///       on_ready(tensor) once for each tensor when its part of `out` is final, usually last to
///       first, and does not change that part afterwards. Tensors never announced are final on
///       return. Allocates nothing after a batch of the largest size.
///
/// Optional:
///   reseed(random)                   sets the random stream of the next round, split by step and
///                                    rank, for random layers such as dropout
///   buffers() -> span<float>         state that is kept but not learned by gradients, such as
///                                    running statistics
///   buffer_layout() -> layout        its names
///   reset_buffers()                  sets it to its starting values. Every rank keeps its own
///                                    buffers. A failed round does not change them. An evaluation
///                                    uses the mean over the ranks
///   describe(field)                  reports the model's configuration by field(name, value).
///                                    Ranks compare it. Readers of published models compare it
///                                    except for `loss` and `begins_with`
///   meanwhile(advance)               does other work while gradients are in flight. A strategy may
///                                    call it after sending all of a round's gradients. Between
///                                    pieces of work it calls advance() to progress the transfers
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
/// Lets a model work while gradients are in flight.
template <gradient_source Model, class Advance>
void use_the_time(Model& model, Advance advance) {
    if constexpr (requires { model.meanwhile(advance); }) model.meanwhile(advance);
}
}  // namespace sotto::detail

namespace sotto {

/// A gradient source that classifies. It returns its logits and accepts a gradient with respect to
/// them, for example from a teacher. Its batches have labels().
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

/// A gradient source with buffers, see gradient_source.
template <class M>
concept with_buffers = requires(M& model, const M& fixed) {
    { model.buffers() } -> std::convertible_to<std::span<float>>;
    { fixed.buffer_layout() } -> std::convertible_to<const layout&>;
    model.reset_buffers();
};

}  // namespace sotto::detail
