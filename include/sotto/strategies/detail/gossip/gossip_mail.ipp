#pragma once

#include "sotto/strategies/detail/gossip/gossip_mail.hpp"

#include <algorithm>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/messaging/blame.hpp"

namespace sotto::detail {

SOTTO_DECL gossip_mail::~gossip_mail() {
    if (std::ranges::any_of(letters_, [](const letter& l) { return l.sent.has_value(); }))
        through_.withdraw();
}

SOTTO_DECL void gossip_mail::say(int to, const wire::gossip_word& word) {
    letter& l = free_letter();
    wire::write_gossip_word(word, l.content.data());
    try {
        l.sent = through_.send(to, label(), l.content);
    } catch (const peer_failure& e) {
        if (e.rank() != to) throw;  // that it went is told
    }
}

SOTTO_DECL bool gossip_mail::is_all_said() {
    bool all = true;
    for (letter& l : letters_) {
        if (!l.sent) continue;
        std::int64_t size = 0;
        all = ended(l.sent, &size) && all;
        bytes_ += size;
    }
    return all;
}

SOTTO_DECL bool gossip_mail::ended(std::optional<request>& r, std::int64_t* size) {
    try {
        const auto end = through_.poll(*r);
        if (!end) return false;
        if (size) *size = end->bytes;
    } catch (const peer_failure&) {}
    r.reset();
    return true;
}

SOTTO_DECL std::optional<wire::gossip_word> gossip_mail::read(int from, byte_view content) {
    std::optional<wire::gossip_word> word;
    detail::read_or_let_leave(through_, from, [&] {
        word = wire::read_gossip_word(content).value(
            [&] { return "what rank " + std::to_string(from) + " says to be mixed with"; });
    });
    return word;
}

SOTTO_DECL gossip_mail::letter& gossip_mail::free_letter() {
    const auto free = std::ranges::find_if(letters_, [](const letter& l) { return !l.sent; });
    return free == letters_.end() ? letters_.emplace_back() : *free;
}

}  // namespace sotto::detail
