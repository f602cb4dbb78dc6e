#pragma once

#include "sotto/transports/detail/messaging/match_table.hpp"

#include <cstring>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/size_only.hpp"

namespace sotto::detail::net {

SOTTO_DECL bool transfer::is_for(int from, const tag& what) const noexcept {
    return label == what && (peer == any_rank || peer == from);
}

SOTTO_DECL mutable_byte_view arrival::room() const {
    const auto count = static_cast<std::size_t>(size);
    if (!has_content) return size_only<std::byte>(count);
    return {content.bytes.get(), count};
}

SOTTO_DECL void match_table::reserve(std::size_t count) {
    receives_.reserve(count);
    arrivals_.reserve(count);
}

SOTTO_DECL transfer* match_table::take_receive(int from, const tag& label) noexcept {
    auto& waiting = receives_.of(label);
    for (transfer* t = waiting.first(); t; t = t->after)
        if (t->is_for(from, label)) {
            waiting.unlink(*t);
            return t;
        }
    return nullptr;
}

SOTTO_DECL bool match_table::has_receive(int from, const tag& label) const noexcept {
    for (const transfer* t = receives_.of(label).first(); t; t = t->after)
        if (t->is_for(from, label)) return true;
    return false;
}

SOTTO_DECL void match_table::post(transfer& receive) noexcept {
    receive.posted = posted_++;
    receives_.of(receive.label).push_back(receive);
}

SOTTO_DECL void match_table::post_again(transfer& receive) noexcept {
    auto& waiting = receives_.of(receive.label);
    transfer* after = waiting.first();
    while (after && after->posted < receive.posted) after = after->after;
    waiting.insert_before(after, receive);
}

SOTTO_DECL void match_table::remove(transfer& receive) noexcept {
    if (receive.linked) receives_.of(receive.label).unlink(receive);
}

SOTTO_DECL arrival* match_table::find_arrival(const transfer& receive) const noexcept {
    for (arrival* a = arrivals_.of(receive.label).first(); a; a = a->after)
        if (receive.is_for(a->source, a->label)) return a;
    return nullptr;
}

SOTTO_DECL bool match_table::has_arrival(int from, const tag& label) const noexcept {
    for (const arrival* a = arrivals_.of(label).first(); a; a = a->after)
        if (a->where == arrival::place::here && a->source == from && a->label == label) return true;
    return false;
}

SOTTO_DECL void match_table::claim(arrival& coming, transfer& receive) noexcept {
    arrivals_.of(coming.label).unlink(coming);
    coming.claimed_by = &receive;
}

SOTTO_DECL arrival& match_table::add_arrival(int from, const tag& label, std::int64_t size,
                                             arrival::place where, bool has_content) {
    if (free_.empty()) {
        if (free_.capacity() == pool_.size()) free_.reserve(2 * pool_.size() + 1);
        free_.push_back(&pool_.emplace_back());
    }
    arrival& a = *free_.back();
    if (where == arrival::place::coming && has_content)
        a.content = memory_.take(static_cast<std::size_t>(size));
    free_.pop_back();
    a.source = from;
    a.label = label;
    a.size = size;
    a.where = where;
    a.has_content = has_content;
    a.sent_to_self = a.claimed_by = nullptr;
    arrivals_.of(label).push_back(a);
    return a;
}

SOTTO_DECL void match_table::release(arrival& a) noexcept {
    if (a.linked) arrivals_.of(a.label).unlink(a);
    memory_.give_back(std::exchange(a.content, {}));
    free_.push_back(&a);  // has room for all of them
}

SOTTO_DECL void match_table::forget_announced(int from) noexcept {
    for (arrival& a : pool_)
        if (a.linked && a.source == from && a.where == arrival::place::at_sender)
            forget(&a, from, a.label);
}

SOTTO_DECL void match_table::forget(int from, const tag& label) noexcept {
    forget(arrivals_.of(label).first(), from, label);
}

SOTTO_DECL void match_table::forget(int from) noexcept {
    for (arrival& a : pool_)
        if (a.linked && a.source == from) release(a);
}

SOTTO_DECL std::int64_t match_table::bytes_from(int rank) const noexcept {
    std::int64_t sum = 0;
    for (const arrival& a : pool_)
        if (a.linked && a.source == rank &&
            (a.where == arrival::place::here || a.where == arrival::place::coming))
            sum += a.size;
    return sum;
}

SOTTO_DECL void match_table::forget(arrival* first, int from, tag label) noexcept {
    for (arrival* a = first; a;) {
        arrival& here = *std::exchange(a, a->after);
        if (here.source == from && here.label == label) release(here);
    }
}

SOTTO_DECL void deliver(transfer& receive, int source, byte_view content) noexcept {
    receive.ended = {source, static_cast<std::int64_t>(content.size())};
    if (receive.ended.bytes > receive.size) {
        receive.reached = transfer::stage::too_long;
        return;
    }
    if (!content.empty() && receive.target != content.data() && has_content(content) &&
        has_content(receive.memory()))
        std::memcpy(receive.target, content.data(), content.size());
    receive.reached = transfer::stage::complete;
}

}  // namespace sotto::detail::net
