#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/round_info.hpp"
#include "sotto/core/visit.hpp"

namespace sotto {

/// What an optimizer is told when a step begins.
struct step_info {
    round_info where;          // which step it is
    double rate_factor = 1.0;  // what learning-rate schedules have made of the learning rate
};

/// How a gradient moves parameters. Options have `bind(layout)`; the state has
///   begin_step(step_info, gradient)       the whole gradient, before any update of the step. May
///                                         throw, and may be called again without the step having
///                                         taken place: it changes nothing that would show
///   update(tensor, parameters, gradient)  one tensor's parts; each tensor once a step, in any
///                                         order. noexcept: by now every rank has agreed that the
///                                         step takes place
/// and may have
///   update_at(tensor, parameters, gradient, indices)   the same for these entries alone, where
///   update_entries(tensor, parameters, indices, values)  the same, given their values alone
///   update_part(tensor, first, parameters, gradient)   update in parts: of the elements from place
///                                                      `first` on. All parts of a tensor once a
///                                                      step, instead of update; noexcept
///   plain_rate(tensor)                                 where this step is w -= rate g of a tensor
///                                                      and nothing else, that rate: whoever asks
///                                                      may do it in place of update. optional
///   updates_sparsely()                                 says that entries with a zero gradient stay
///                                                      as they are
///   commit()                                           noexcept: the step took place
///   rate_at(round_info) -> double                      the learning rate of a step there
///   follow_momentum(carried_momentum)                  told once what momentum gradients will
///                                                      carry
///   visit(field)                                       calls field(name, value) for everything to
///                                                      be saved: spans of float and std::int64_t,
///                                                      the same on all ranks. Some strategies call
///                                                      it every step: it takes no memory. Without
///                                                      it only a linear optimizer can be in a
///                                                      checkpoint
///   static constexpr bool steps_by_tensor              true says that begin_step does not read the
///                                                      gradient, so that tensors may be updated
///                                                      while others are computed
/// `static constexpr bool linear = true` says that the update is linear in the gradient and
/// remembers none of it: plain SGD. Only such an optimizer may follow an exchange whose memory
/// already holds the momentum.
template <class O>
concept optimizer = requires(const O& options, const layout& tensors) {
    options.bind(tensors);
}
&&requires(decltype(std::declval<const O&>().bind(std::declval<const layout&>()))& state,
           const tensor& t, const step_info& step, std::span<float> parameters,
           std::span<const float> gradient) {
    state.begin_step(step, gradient);
    { state.update(t, parameters, gradient) }
    noexcept;
};

}  // namespace sotto

namespace sotto::detail {

/// The update is linear in the gradient and remembers none of it: see optimizer.
template <class O>
concept linear_optimizer = optimizer<O> && requires {
    requires O::linear;
};

}  // namespace sotto::detail

/// The members that an optimizer may leave out.
namespace sotto::detail::optimizing {

template <class State>
bool updates_sparsely(const State& state) noexcept {
    if constexpr (requires { state.updates_sparsely(); })
        return state.updates_sparsely();
    else
        return false;
}

/// Tensors can be updated before the others' gradients are there.
template <class State>
concept steps_by_tensor = requires {
    requires State::steps_by_tensor;
};

/// Whether the state has update_entries.
template <class State>
concept updates_entries = requires(State& state, const tensor& t, std::span<float> parameters,
                                   std::span<const std::uint32_t> indices,
                                   std::span<const float> values) {
    { state.update_entries(t, parameters, indices, values) }
    noexcept;
};

/// Whether the state has update_part.
template <class State>
concept updates_parts = requires(State& state, const tensor& t, std::int64_t first,
                                 std::span<float> parameters, std::span<const float> gradient) {
    { state.update_part(t, first, parameters, gradient) }
    noexcept;
};

template <class State>
std::optional<float> plain_rate(const State& state, const tensor& t) noexcept {
    if constexpr (requires { state.plain_rate(t); })
        return state.plain_rate(t);
    else
        return std::nullopt;
}

template <class State>
void follow_momentum(State& state, const carried_momentum& momentum) noexcept {
    if constexpr (requires { state.follow_momentum(momentum); }) state.follow_momentum(momentum);
}

/// An optimizer whose state says what the learning rate of a step is.
template <class Optimizer>
concept tells_rate = requires(const Optimizer& options, const layout& tensors,
                              const round_info& where) {
    options.bind(tensors).rate_at(where);
};

/// The learning rate of a step; 0 where the optimizer does not tell it.
template <class State>
double rate_at(const State& state, const round_info& where) noexcept {
    if constexpr (requires { state.rate_at(where); })
        return state.rate_at(where);
    else
        return 0.0;
}

template <class State>
void commit(State& state) noexcept {
    if constexpr (requires { state.commit(); }) {
        static_assert(noexcept(state.commit()),
                      "optimizer: commit() must be noexcept: the step took place on all ranks");
        state.commit();
    }
}

template <class State, class Field>
void visit(State& state, Field&& field) {
    if constexpr (requires { state.visit(field); }) state.visit(field);
}

/// Whether a checkpoint has all that the optimizer with these options remembers: it shows it, or
/// says that it remembers nothing.
template <class Options>
concept can_be_saved = linear_optimizer<Options> ||
    sotto::visitable<decltype(std::declval<const Options&>().bind(std::declval<const layout&>()))>;

}  // namespace sotto::detail::optimizing
