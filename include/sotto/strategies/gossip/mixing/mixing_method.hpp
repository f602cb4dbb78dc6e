#pragma once

#include <span>
#include <type_traits>
#include <utility>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/visit.hpp"

namespace sotto {

/// How a rank's own steps and the mixing with its neighbours go together. Options have
/// `bind(layout)`; the state may have, with the default for those that do not,
///   direct(tensor, gradient)        makes of a gradient what the optimizer steps by, in place;
///                                   nothing
///   correct(tensor, parameters, next)   after the optimizer has moved `next`, which was a copy of
///                                   the parameters, and before it is mixed; nothing
///   companion() -> span<float>      a second vector, as long as the parameters, that is mixed
///                                   beside them by the same matrix; none
///   wants_mean() -> bool            whether all ranks take their mean after this step, once and
///                                   whatever the controller says, in place of mixing with
///                                   neighbours; no
///   settle(parameters, next, rate)  when `next` was mixed; the optimizer's learning rate. Nothing
///                                   that can fail follows; nothing
///   commit(), rollback()            noexcept: the step took place, or it did not and all is as
///                                   before
///   visit(field)                    everything to be saved; nothing. A state with members but
///                                   without visit trains, but is refused where checkpoints are
///                                   asked for
/// and the options may say by `static constexpr bool`
///   combines_first    the parameters are mixed as they are before the step, while the gradient is
///                     computed, and the step is added to what comes of it
///   by_shares         what each rank has is shared out, by columns that add up to 1: links may go
///                     one way, and parameters are what a rank has over its weight
///   in_pairs          ranks mix with one other when they have a gradient, and nobody waits
///   by_copies         ranks keep a copy of what neighbours know of them, and send what changes it:
///                     what is sent may be compressed
///   needs_rate        the optimizer must tell its learning rate
///   plain_steps       the optimizer must be plain SGD or a schedule of it: the method has momentum
///                     of its own
///   corrects_last_step   a step is corrected by where the one before it went, so that nothing else
///                     may move the parameters between them
///   smallest_eigenvalue (a double)   no eigenvalue of the mixing matrix may be as small as that
template <class M>
concept mixing_method = requires(const M& options, const layout& tensors) {
    options.bind(tensors);
};

/// The state that options become.
template <class M>
using mixing_state = decltype(std::declval<const M&>().bind(std::declval<const layout&>()));

}  // namespace sotto

/// The members that a method may leave out.
namespace sotto::detail::mixing {

/// Parameters are mixed as they were before the step.
template <class M>
concept combines_first = requires {
    requires M::combines_first;
};

/// What each rank has is shared out, by columns.
template <class M>
concept by_shares = requires {
    requires M::by_shares;
};

/// Ranks mix with one other at a time.
template <class M>
concept in_pairs = requires {
    requires M::in_pairs;
};

/// Ranks keep copies of what neighbours know of them.
template <class M>
concept by_copies = requires {
    requires M::by_copies;
};

/// The optimizer must tell its learning rate.
template <class M>
concept needs_rate = requires {
    requires M::needs_rate;
};

/// The optimizer must be plain SGD or a schedule of it.
template <class M>
concept plain_steps = requires {
    requires M::plain_steps;
};

/// A step is corrected by where the one before it went.
template <class M>
concept corrects_last_step = requires {
    requires M::corrects_last_step;
};

/// A second vector is mixed beside the parameters.
template <class State>
concept has_companion = requires(State& state) {
    state.companion();
};

/// All ranks take their mean after some steps.
template <class State>
concept has_means = requires(const State& state) {
    state.wants_mean();
};

/// What ranks remember is each one's own, so that the others mix on when one is lost.
template <class M>
concept outlives_ranks =
    !by_shares<M> && !in_pairs<M> && !by_copies<M> && !corrects_last_step<M> &&
    !has_companion<mixing_state<M>> && !has_means<mixing_state<M>> && !requires {
    M::smallest_eigenvalue;
};

/// Makes of a gradient what the optimizer steps by.
template <class State>
concept directs = requires(State& state, const tensor& t, std::span<float> gradient) {
    state.direct(t, gradient);
};

}  // namespace sotto::detail::mixing

namespace sotto {
namespace mixing {

template <class State>
void direct(State& state, const tensor& t, std::span<float> gradient) {
    if constexpr (detail::mixing::directs<State>) state.direct(t, gradient);
}

template <class State>
void correct(State& state, const tensor& t, std::span<const float> parameters,
             std::span<float> next) {
    if constexpr (requires { state.correct(t, parameters, next); })
        state.correct(t, parameters, next);
}

template <class State>
bool wants_mean(const State& state) {
    if constexpr (requires { state.wants_mean(); })
        return state.wants_mean();
    else
        return false;
}

template <class State>
void settle(State& state, std::span<const float> parameters, std::span<float> next, double rate) {
    if constexpr (requires { state.settle(parameters, next, rate); })
        state.settle(parameters, next, rate);
}

template <class State>
void commit(State& state) noexcept {
    if constexpr (requires { state.commit(); }) {
        static_assert(noexcept(state.commit()),
                      "mixing method: commit() must be noexcept: the step took place");
        state.commit();
    }
}

template <class State>
void rollback(State& state) noexcept {
    if constexpr (requires { state.rollback(); }) {
        static_assert(noexcept(state.rollback()),
                      "mixing method: rollback() must be noexcept: it runs while an error passes");
        state.rollback();
    }
}

}  // namespace mixing
}  // namespace sotto

namespace sotto::detail::mixing {

/// Whether a checkpoint has all that it remembers: it shows it, or there is nothing in it.
template <class State>
concept can_be_saved = sotto::visitable<State> || std::is_empty_v<State>;

}  // namespace sotto::detail::mixing

namespace sotto {
namespace mixing {

template <class State, class Field>
void visit(State& state, Field&& field) {
    if constexpr (requires { state.visit(field); }) state.visit(field);
}

}  // namespace mixing

}  // namespace sotto
