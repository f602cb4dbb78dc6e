#pragma once

#include <type_traits>
#include <utility>

#include "sotto/trainer/reports.hpp"

namespace sotto::detail {

// What a callback may have; see callback.
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

/// What a callback wants after an epoch. If one rank asks to stop, all ranks stop.
///   keep_going   the next epoch begins
///   stop         this call of `fit` ends
enum class fit_control : bool { keep_going, stop };

/// Something told how training goes. It has one or more of
///   on_begin(const run_info&)       on_step(const step_report&)
///   on_epoch(const epoch_report&)   returning nothing or a fit_control
///   on_checkpoint(const checkpoint_report&)   after a checkpoint was written, or was not
///   on_end(const fit_report&)
/// or is a function of a step_report or an epoch_report, and then answers as on_step or on_epoch
/// does. Every rank calls its own; they are called between rounds. One that writes files may also
/// have incomplete() const, which returns why its output lacks something, or an empty string: `fit`
/// asks after on_end, see fit_report::incomplete.
/// The last meeting of local_updates, and what else ends a call of `fit`, follows on_step of the
/// last step: on_step sees the parameters that the step itself left. It precedes on_epoch, unless
/// the fit_control of on_epoch ends the call.
template <class C>
concept callback = detail::told_of_begin<C> || detail::told_of_steps<C> ||
    detail::told_of_epochs<C> || detail::told_of_checkpoints<C> || detail::told_of_end<C>;

/// Whether a callback that is told of steps returns nothing: an answer would be heard by nobody.
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

/// Whether on_epoch of a callback returns nothing or a fit_control. A bool is refused: true could
/// mean either.
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
