#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <utility>

#include "sotto/core/bytes.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/detail/update/pushed_step.hpp"

namespace sotto {

/// What a server knows of a gradient that is to move its parameters.
struct late_gradient {
    int worker = 0;              // whose, 0 to workers - 1
    std::int64_t staleness = 0;  // steps that the server took since the worker read the parameters
    std::int64_t step = 0;       // that the server took in all
    double learning_rate = 0.0;  // of the step that follows; 0 where the optimizer does not tell it
};

/// What a late gradient is turned into. Options have `bind(layout, workers)`; the state has
///   begin(late_gradient) -> double      called before the gradient's tensors: by what the learning
///                                       rate of its step is multiplied
/// and may have
///   compensate(tensor, gradient, now, then)   changes a tensor's gradient, which was computed at
///                                       the parameters `then` and meets the parameters `now`.
///                                       noexcept: by now the server has taken the gradient
///   compensate_part(tensor, first, gradient, now, then)   the same in parts: all spans are of the
///                                       elements from place `first` on. All parts of a tensor
///                                       once, instead of compensate; noexcept
///   descends(), descend(tensor, rate, next, now, gradient, then)   whether, and then: compensates
///                                       a gradient whose floats lie anywhere, and takes the step
///                                       of plain SGD by it, from `now` to `next`, which may be
///                                       `now` or `then`; noexcept
///   compensate_at(tensor, values, indices, now, then)   the same for entries; `now` and `then` are
///                                       the whole tensor's. The gradient elsewhere is 0
///   descend_at(tensor, rate, now, indices, values, then)   the same, and the step of plain SGD by
///                                       what comes of them; noexcept
///   moved(tensor, change)               what the step changed the tensor by, after it
///   forget(worker)                      who left, or is another one from now on
///   visit(field)                        everything to be saved
/// `static constexpr bool compares = true` in the options says that compensate is there, and that
/// the server must keep what each worker has read; `adaptive_rate`, that it needs the learning
/// rate; `synchronous_only`, that all gradients of a round must be of the same parameters.
template <class C>
concept staleness_compensator = requires(const C& options, const layout& tensors, int workers) {
    options.bind(tensors, workers);
}
&&requires(decltype(std::declval<const C&>().bind(std::declval<const layout&>(), 1))& state,
           const late_gradient& what) {
    { state.begin(what) } -> std::same_as<double>;
};

/// The state that a compensator's options become.
template <class C>
using compensator_state = decltype(std::declval<const C&>().bind(std::declval<const layout&>(), 1));

}  // namespace sotto

namespace sotto::detail {

/// The server must keep the parameters that each worker has read.
template <class C>
concept compares_parameters = requires {
    requires C::compares;
};

/// Only for rounds in which all workers read the same parameters.
template <class C>
concept only_for_rounds = requires {
    requires C::synchronous_only;
};

/// Asks what the optimizer's learning rate is.
template <class C>
concept adapts_rate = requires {
    requires C::adaptive_rate;
};

}  // namespace sotto::detail

/// The members that a compensator may leave out.
namespace sotto::detail::compensating {

template <class State>
void compensate(State& state, const tensor& t, std::span<float> gradient,
                std::span<const float> now, std::span<const float> then) noexcept {
    if constexpr (requires { state.compensate(t, gradient, now, then); }) {
        static_assert(noexcept(state.compensate(t, gradient, now, then)),
                      "staleness compensator: compensate() must be noexcept: the server has taken "
                      "the gradient");
        state.compensate(t, gradient, now, then);
    }
}

/// Whether a gradient can be compensated part by part: it never is, or there is compensate_part.
template <class State>
inline constexpr bool works_by_parts = !requires(
    State & state, const tensor& t, std::span<float> gradient, std::span<const float> then) {
    state.compensate(t, gradient, then, then);
}
|| requires(State& state, const tensor& t, std::int64_t first, std::span<float> gradient,
            std::span<const float> then) {
    { state.compensate_part(t, first, gradient, then, then) }
    noexcept;
};

template <class State>
void compensate_part(State& state, const tensor& t, std::int64_t first, std::span<float> gradient,
                     std::span<const float> now, std::span<const float> then) noexcept {
    if constexpr (requires { state.compensate_part(t, first, gradient, now, then); })
        state.compensate_part(t, first, gradient, now, then);
}

/// Whether a step of plain SGD may be left to `descend`: nothing is to be compensated, or there is
/// one.
template <class State>
bool descends(const State& state, bool compensates) noexcept {
    if constexpr (requires { state.descends(); })
        return state.descends() || !compensates;
    else
        return !compensates;
}

template <class State>
void descend(State& state, const tensor& t, float rate, std::span<float> next,
             std::span<const float> now, byte_view gradient, std::span<const float> then) noexcept {
    if constexpr (requires { state.descend(t, rate, next, now, gradient, then); })
        if (!then.empty()) return state.descend(t, rate, next, now, gradient, then);
    kernels::descend_pushed(rate, next, now, gradient);
}

template <class State>
void compensate_at(State& state, const tensor& t, std::span<float> values,
                   std::span<const std::uint32_t> indices, std::span<const float> now,
                   std::span<const float> then) noexcept {
    if constexpr (requires { state.compensate_at(t, values, indices, now, then); })
        state.compensate_at(t, values, indices, now, then);
}

/// Whether a gradient can be compensated by its entries: it never is, or there is compensate_at.
template <class State>
inline constexpr bool works_by_entries = !requires(
    State & state, const tensor& t, std::span<float> gradient, std::span<const float> then) {
    state.compensate(t, gradient, then, then);
}
|| requires(State& state, const tensor& t, std::span<float> values,
            std::span<const std::uint32_t> indices, std::span<const float> then) {
    state.compensate_at(t, values, indices, then, then);
};

/// Whether the state has descend_at.
template <class State>
inline constexpr bool descends_at = requires(State& state, const tensor& t, std::span<float> now,
                                             std::span<const std::uint32_t> indices,
                                             std::span<const float> values) {
    { state.descend_at(t, 0.1f, now, indices, values, values) }
    noexcept;
};

/// Whether the state has moved.
template <class State>
inline constexpr bool watches_moves = requires(State& state, const tensor& t,
                                               std::span<const float> change) {
    state.moved(t, change);
};

template <class State>
void forget(State& state, int worker) {
    if constexpr (requires { state.forget(worker); }) state.forget(worker);
}

template <class State, class Field>
void visit(State& state, Field&& field) {
    if constexpr (requires { state.visit(field); }) state.visit(field);
}

}  // namespace sotto::detail::compensating
