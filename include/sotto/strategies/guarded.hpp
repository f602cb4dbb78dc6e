#pragma once

#include <exception>

#include "sotto/core/errors.hpp"

namespace sotto::detail {

/// Does a rank's part of what others wait for. Should it throw, what it began is undone; and where
/// that was no other rank's failure, of which all hear anyway, they are told, so that they end with
/// its cause. A rank that is alone may try again.
template <class Transport, class Action, class Undo>
auto guarded(Transport& through, Action action, Undo undo) -> decltype(action()) {
    const auto give_up = [&](const char* cause) noexcept {
        undo();
        if (through.size() > 1) through.fail(cause);
    };
    try {
        return action();
    } catch (const peer_failure&) {
        undo();
        throw;
    } catch (const std::exception& e) {
        give_up(e.what());
        throw;
    } catch (...) {
        give_up("it threw something that is not a std::exception");
        throw;
    }
}

template <class Transport, class Action>
auto guarded(Transport& through, Action action) -> decltype(action()) {
    return guarded(through, action, []() noexcept {});
}

}  // namespace sotto::detail
