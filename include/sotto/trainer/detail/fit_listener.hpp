#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "sotto/core/errors.hpp"
#include "sotto/trainer/callback.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/trainer/options.hpp"
#include "sotto/trainer/reports.hpp"

namespace sotto::detail {

/// One of the further arguments of `fit`, without its type: what it is told, and what it asks for.
/// What it is not told is null.
struct fit_listener {
    void* to;  // the argument
    void (*begin)(void* to, const run_info&) = nullptr;
    void (*step)(void* to, const step_report&) = nullptr;
    verdict (*epoch)(void* to, const epoch_report&) = nullptr;
    void (*checkpoint)(void* to, const checkpoint_report&) = nullptr;
    void (*end)(void* to, const fit_report&) = nullptr;
    std::string (*incomplete)(void* to) = nullptr;  // why its output is; empty: it is complete

    const checkpoints* saves = nullptr;

    /// Of evaluate_on. A trainer says how.
    evaluation (*evaluate)(void* trainer, void* to) = nullptr;
    bool evaluates = false, evaluates_own = false;
    std::int64_t every = 0;  // epochs
    std::int64_t examples = 0;
};

/// The argument that a listener was made of.
template <class C>
C& argument_of(void* to) noexcept {
    if constexpr (std::is_function_v<C>)
        return *reinterpret_cast<C*>(to);
    else
        return *static_cast<C*>(to);
}

template <class C>
void* place_of_argument(C& argument) noexcept {
    if constexpr (std::is_function_v<C>)
        return reinterpret_cast<void*>(std::addressof(argument));
    else
        return const_cast<std::remove_cv_t<C>*>(std::addressof(argument));
}

template <class C>
fit_listener listener_of(C& argument) {
    fit_listener made{.to = place_of_argument(argument)};
    if constexpr (is_evaluation<std::remove_cv_t<C>>) {
        made.evaluates = true;
        made.evaluates_own = argument.own;
        made.every = argument.every;
        made.examples = static_cast<std::int64_t>(argument.data.size());
    } else if constexpr (is_checkpoints<std::remove_cv_t<C>>) {
        made.saves = &argument;
    } else {
        if constexpr (requires(const run_info& info) { argument.on_begin(info); })
            made.begin = [](void* to, const run_info& info) { argument_of<C>(to).on_begin(info); };
        if constexpr (requires(const step_report& report) { argument.on_step(report); } ||
                      std::is_invocable_v<C&, const step_report&>)
            made.step = [](void* to, const step_report& report) {
                calling::step(argument_of<C>(to), report);
            };
        if constexpr (requires(const epoch_report& report) { argument.on_epoch(report); } ||
                      std::is_invocable_v<C&, const epoch_report&>)
            made.epoch = [](void* to, const epoch_report& report) {
                return calling::epoch(argument_of<C>(to), report);
            };
        if constexpr (requires(const checkpoint_report& report) { argument.on_checkpoint(report); })
            made.checkpoint = [](void* to, const checkpoint_report& report) {
                argument_of<C>(to).on_checkpoint(report);
            };
        if constexpr (requires(const fit_report& report) { argument.on_end(report); })
            made.end = [](void* to, const fit_report& report) {
                argument_of<C>(to).on_end(report);
            };
        if constexpr (requires(const C& c) {
                          { c.incomplete() } -> std::convertible_to<std::string>;
                      })
            made.incomplete = [](void* to) -> std::string {
                return std::as_const(argument_of<C>(to)).incomplete();
            };
    }
    return made;
}

}  // namespace sotto::detail
