#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "sotto/trainer/callback.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/trainer/options.hpp"
#include "sotto/trainer/reports.hpp"

namespace sotto::detail {

/// An argument of `fit` after the length, with its type erased. A function is null if the argument
/// has no such member.
struct fit_argument {
    void* to;  // argument
    void (*begin)(void* to, const run_info&) = nullptr;
    void (*step)(void* to, const step_report&) = nullptr;
    fit_control (*epoch)(void* to, const epoch_report&) = nullptr;
    void (*checkpoint)(void* to, const checkpoint_report&) = nullptr;
    void (*end)(void* to, const fit_report&) = nullptr;
    std::string (*incomplete)(void* to) = nullptr;  // reason; empty: output is complete

    const checkpoints* saves = nullptr;  // argument, if it is a checkpoints

    // Of evaluate_on
    evaluation (*evaluate)(void* trainer, void* to) = nullptr;
    bool evaluates_own = false;
    std::int64_t every = 0;  // epochs between evaluations
    std::int64_t examples = 0;
};

/// Returns the argument that `to` points to.
template <class C>
C& argument_at(void* to) noexcept {
    if constexpr (std::is_function_v<C>)
        return *reinterpret_cast<C*>(to);
    else
        return *static_cast<C*>(to);
}

template <class C>
void* place_of(C& argument) noexcept {
    if constexpr (std::is_function_v<C>)
        return reinterpret_cast<void*>(std::addressof(argument));
    else
        return const_cast<std::remove_cv_t<C>*>(std::addressof(argument));
}

template <class C>
concept knows_what_is_incomplete = requires(const C& c) {
    { c.incomplete() } -> std::convertible_to<std::string>;
};

/// Requires told_of_steps<C>.
template <class C>
void tell_step(C& c, const step_report& report) {
    if constexpr (requires { c.on_step(report); })
        c.on_step(report);
    else
        c(report);
}

/// Requires told_of_epochs<C>.
template <class C>
fit_control tell_epoch(C& c, const epoch_report& report) {
    const auto answer = [](auto&& call) {
        if constexpr (std::is_void_v<decltype(call())>)
            return call(), fit_control::keep_going;
        else
            return call();
    };
    if constexpr (requires { c.on_epoch(report); })
        return answer([&] { return c.on_epoch(report); });
    else
        return answer([&] { return c(report); });
}

/// `evaluate`: evaluates a trainer on the argument; null except for evaluate_on.
template <class C>
fit_argument fit_argument_of(C& argument, evaluation (*evaluate)(void* trainer, void* to)) {
    fit_argument made{.to = place_of(argument), .evaluate = evaluate};
    if constexpr (is_evaluation<std::remove_cv_t<C>>) {
        made.evaluates_own = argument.own;
        made.every = argument.every;
        made.examples = static_cast<std::int64_t>(argument.data.size());
    } else if constexpr (is_checkpoints<std::remove_cv_t<C>>) {
        made.saves = &argument;
    } else {
        if constexpr (told_of_begin<C>)
            made.begin = [](void* to, const run_info& info) { argument_at<C>(to).on_begin(info); };
        if constexpr (told_of_steps<C>)
            made.step = [](void* to, const step_report& report) {
                tell_step(argument_at<C>(to), report);
            };
        if constexpr (told_of_epochs<C>)
            made.epoch = [](void* to, const epoch_report& report) {
                return tell_epoch(argument_at<C>(to), report);
            };
        if constexpr (told_of_checkpoints<C>)
            made.checkpoint = [](void* to, const checkpoint_report& report) {
                argument_at<C>(to).on_checkpoint(report);
            };
        if constexpr (told_of_end<C>)
            made.end = [](void* to, const fit_report& report) {
                argument_at<C>(to).on_end(report);
            };
        if constexpr (knows_what_is_incomplete<C>)
            made.incomplete = [](void* to) -> std::string {
                return std::as_const(argument_at<C>(to)).incomplete();
            };
    }
    return made;
}

}  // namespace sotto::detail
