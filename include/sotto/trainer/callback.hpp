#pragma once

#include <type_traits>
#include <utility>

#include "sotto/trainer/reports.hpp"

namespace sotto::detail {

// Functions that a callback may have; see callback.
template <class C>
concept told_of_begin = requires(C& c, const run_info& info) {
    c.on_begin(info);
};
template <class C>
concept told_of_steps = requires(C& c, const step_report& report) {
    c.on_step(report);
}
|| std::is_invocable_v<C&, const step_report&>;
template <class C>
concept told_of_epochs = requires(C& c, const epoch_report& report) {
    c.on_epoch(report);
}
|| std::is_invocable_v<C&, const epoch_report&>;
template <class C>
concept told_of_checkpoints = requires(C& c, const checkpoint_report& saved) {
    c.on_checkpoint(saved);
};
template <class C>
concept told_of_end = requires(C& c, const fit_report& whole) {
    c.on_end(whole);
};

}  // namespace sotto::detail

namespace sotto {

/// Result of a callback after an epoch. If one rank returns stop, all ranks stop.
///   keep_going  the next epoch begins
///   stop    this call of `fit` ends
enum class fit_control : bool { keep_going, stop };

/// An object that `fit` calls during training. It has one or more of
///   on_begin(const run_info&)       on_step(const step_report&)
///   on_epoch(const epoch_report&)   returns nothing or a fit_control
///   on_checkpoint(const checkpoint_report&)   after a checkpoint was written, or failed
///   on_end(const fit_report&)
/// or is a function of a step_report or an epoch_report, with the return type of on_step or
/// on_epoch. Each rank calls its own callbacks, between rounds. A callback that writes files may
/// also have incomplete() const, which returns why its output is incomplete, or an empty string.
/// `fit` calls it after on_end, see fit_report::incomplete.
/// The end of a call of `fit`, such as the last meeting of local_updates, follows on_step of the
/// last step. So on_step reads the parameters of the step itself. The end precedes on_epoch, unless
/// the fit_control of on_epoch causes it.
template <class C>
concept callback = detail::told_of_begin<C> || detail::told_of_steps<C> ||
    detail::told_of_epochs<C> || detail::told_of_checkpoints<C> || detail::told_of_end<C>;

/// True if on_step returns nothing: it cannot stop training.
template <class C>
inline constexpr bool answers_no_step = [] {
    if constexpr (requires(C & c, const step_report& step) { c.on_step(step); })
        return std::is_void_v<decltype(std::declval<C&>().on_step(
            std::declval<const step_report&>()))>;
    else if constexpr (std::is_invocable_v<C&, const step_report&>)
        return std::is_void_v<std::invoke_result_t<C&, const step_report&>>;
    else
        return true;
}();

/// True if on_epoch returns nothing or a fit_control. A bool does not compile, because its meaning
/// is ambiguous.
template <class C>
inline constexpr bool returns_fit_control = [] {
    const auto allowed = []<class Answer>(std::type_identity<Answer>) {
        return std::is_void_v<Answer> || std::is_same_v<std::remove_cvref_t<Answer>, fit_control>;
    };
    if constexpr (requires(C & c, const epoch_report& epoch) { c.on_epoch(epoch); })
        return allowed(std::type_identity<decltype(std::declval<C&>().on_epoch(
                           std::declval<const epoch_report&>()))>{});
    else if constexpr (std::is_invocable_v<C&, const epoch_report&>)
        return allowed(std::type_identity<std::invoke_result_t<C&, const epoch_report&>>{});
    else
        return true;
}();

}  // namespace sotto
