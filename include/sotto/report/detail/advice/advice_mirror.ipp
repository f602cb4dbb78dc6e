#pragma once

#include "sotto/report/detail/advice/advice_mirror.hpp"

#include <algorithm>
#include <stdexcept>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL request mirror::send(int, tag, byte_view out) {
    counts_.bytes_sent += static_cast<std::int64_t>(out.size());
    ++counts_.messages_sent;
    return note({.is_send = true, .out = out});
}

SOTTO_DECL std::optional<completion> mirror::poll(request r) {
    const transfer& t = transfers_[r.slot];
    if (!t.is_complete) return std::nullopt;
    free_.push_back(r.slot);
    return completion{t.peer, t.bytes};
}

SOTTO_DECL completion mirror::wait(request r) {
    const auto ended = poll(r);
    if (!ended) throw std::logic_error("mirror: waited for what is never sent");
    return *ended;
}

SOTTO_DECL void mirror::await(std::uint64_t seen) const {
    if (seen == moved_) throw std::logic_error("mirror: waited for what is never sent");
}

SOTTO_DECL request mirror::note(const transfer& made) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(transfers_.size()));
        transfers_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    transfers_[slot] = made;
    if (waiting_.empty() || transfers_[waiting_.front()].is_send == made.is_send) {
        waiting_.push_back(slot);
    } else {
        deliver(transfers_[slot], transfers_[waiting_.front()]);
        waiting_.pop_front();
    }
    return {slot, 0};
}

SOTTO_DECL void mirror::deliver(transfer& a, transfer& b) {
    const byte_view out = a.is_send ? a.out : b.out;
    const mutable_byte_view in = a.is_send ? b.in : a.in;
    if (out.size() > in.size())
        throw std::logic_error("mirror: a message is longer than the memory for it");
    std::copy(out.begin(), out.end(), in.begin());
    a.bytes = b.bytes = static_cast<std::int64_t>(out.size());
    a.is_complete = b.is_complete = true;
    ++moved_;
}

}  // namespace sotto::detail
