#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <utility>

#include "sotto/core/bytes.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/detail/update/pushed_step.hpp"

namespace sotto {

/// A gradient that a server is about to apply.
struct late_gradient {
    int worker = 0;              // worker that sent it, 0 to workers - 1
    std::int64_t staleness = 0;  // steps of the server since the worker read the parameters
    std::int64_t step = 0;       // all steps of the server
    double learning_rate = 0.0;  // of the next step; 0 if the optimizer does not report it
};

/// Policy that changes a late gradient before the server applies it. Options have
/// `bind(layout, workers)`, which returns the state. The state has
///   begin(late_gradient) -> double
///       returns the factor on the step's learning rate; called before the gradient's tensors
/// and may have
///   compensate(tensor, gradient, now, then)
///       changes a tensor's gradient, which was computed at the parameters `then` and is applied at
///       `now`; noexcept, because the server has already accepted the gradient
///   compensate_part(tensor, first, gradient, now, then)
///       the same for one part: each span begins at element `first`. Called once for each part of a
///       tensor, instead of compensate; noexcept
///   descends()
///       returns true if descend may be called
///   descend(tensor, rate, next, now, gradient, then)
///       compensates a gradient at any alignment and takes a step of plain SGD from `now` to
///       `next`; `next` may be `now` or `then`; noexcept
///   compensate_at(tensor, values, indices, now, then)
///       compensate for the entries of a sparse gradient, which is 0 elsewhere; `now` and `then`
///       span the whole tensor
///   descend_at(tensor, rate, now, indices, values, then)
///       compensate_at and a step of plain SGD with the result; noexcept
///   moved(tensor, change)
///       receives the change of a tensor after the step
///   forget(worker)
///       called if this worker left or a new one takes its rank
///   visit(field)
///       visits everything that a checkpoint saves
/// Constants of the options, each `static constexpr bool ... = true`:
///   compares           the state has compensate; the server must store what each worker has read
///   adaptive_rate      the state needs the learning rate
///   synchronous_only   all gradients of a round must be computed at the same parameters
template <class C>
concept staleness_compensator = requires(const C& options, const layout& tensors, int workers) {
    options.bind(tensors, workers);
}
&&requires(decltype(std::declval<const C&>().bind(std::declval<const layout&>(), 1))& state,
           const late_gradient& what) {
    { state.begin(what) } -> std::same_as<double>;
};

/// The state type of a compensator.
template <class C>
using compensator_state = decltype(std::declval<const C&>().bind(std::declval<const layout&>(), 1));

}  // namespace sotto

namespace sotto::detail {

/// The server must store the parameters that each worker has read.
template <class C>
concept compares_parameters = requires {
    requires C::compares;
};

/// Works only in rounds in which all workers read the same parameters.
template <class C>
concept only_for_rounds = requires {
    requires C::synchronous_only;
};

/// Needs the optimizer's learning rate.
template <class C>
concept adapts_rate = requires {
    requires C::adaptive_rate;
};

}  // namespace sotto::detail

/// Calls the optional members of a compensator, if it has them.
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

/// True if a gradient can be compensated part by part: compensate is absent, or compensate_part is
/// present.
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

/// Returns true if `descend` may take a step of plain SGD: nothing needs compensation, or the
/// state's own `descends` agrees.
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

/// True if a sparse gradient can be compensated: compensate is absent, or compensate_at is present.
template <class State>
inline constexpr bool works_by_entries = !requires(
    State & state, const tensor& t, std::span<float> gradient, std::span<const float> then) {
    state.compensate(t, gradient, then, then);
}
|| requires(State& state, const tensor& t, std::span<float> values,
            std::span<const std::uint32_t> indices, std::span<const float> then) {
    state.compensate_at(t, values, indices, then, then);
};

/// True if the state has descend_at.
template <class State>
inline constexpr bool descends_at = requires(State& state, const tensor& t, std::span<float> now,
                                             std::span<const std::uint32_t> indices,
                                             std::span<const float> values) {
    { state.descend_at(t, 0.1f, now, indices, values, values) }
    noexcept;
};

/// True if the state has moved.
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
