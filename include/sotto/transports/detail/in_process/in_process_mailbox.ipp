#pragma once

#include "sotto/transports/detail/in_process/in_process_mailbox.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::local {

SOTTO_DECL transfer* mailbox::match(transfer& t) noexcept {
    ordered_list<transfer>& others = side(!t.sends).of(t.label);
    for (transfer* other = others.first(); other; other = other->after) {
        const transfer& send = t.sends ? t : *other;
        const transfer& receive = t.sends ? *other : t;
        if (send.label == receive.label &&
            (receive.peer == any_rank || receive.peer == send.owner)) {
            others.unlink(*other);
            return other;
        }
    }
    side(t.sends).of(t.label).push_back(t);
    return nullptr;
}

SOTTO_DECL bool mailbox::remove(transfer& t) noexcept {
    if (!t.linked) return false;
    side(t.sends).of(t.label).unlink(t);
    return true;
}

SOTTO_DECL void mailbox::reserve(std::size_t count) {
    sends_.reserve(count);
    receives_.reserve(count);
}

}  // namespace sotto::detail::local
