#pragma once

#include "sotto/core/errors.hpp"
#include "sotto/transports/fail_with_exception.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// Runs `action`, a rank's part of a step that others wait for. On an exception calls `undo` and,
/// unless the cause is a `peer_failure`, reports the exception to the other ranks, which end with
/// it. A rank that is alone may try again.
template <class Action, class Undo>
auto with_rollback(transport_ref through, Action action, Undo undo) -> decltype(action()) {
    try {
        return action();
    } catch (const peer_failure&) {
        undo();
        throw;
    } catch (...) {
        undo();
        if (through.size() > 1) fail_with_exception(through);
        throw;
    }
}

template <class Action>
auto with_rollback(transport_ref through, Action action) -> decltype(action()) {
    return with_rollback(through, action, []() noexcept {});
}

}  // namespace sotto::detail
