#pragma once

#include "sotto/collectives/detail/all_gather_v.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/size_only.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::collectives {

SOTTO_DECL all_gather_v::all_gather_v(transport_ref through, std::int64_t bytes_max, route way,
                                      bool has_content)
    : through_(through), bytes_max_(bytes_max), world_(through.size()), rank_(through.rank()) {
    if (bytes_max < 0)
        throw invalid_option("all_gather: blocks of at most " + std::to_string(bytes_max) +
                             " bytes");
    {
        if (way == route::automatic && has_content) native_ = through.native_all_gather(bytes_max);
        if (native_) return;
    }
    blocks_.resize(static_cast<std::size_t>(world_));
    const auto room = static_cast<std::size_t>(bytes_max);
    for (int hop = 1; hop < world_; ++hop) {
        block& b = block_behind(hop);
        if (has_content) b.memory.resize(room);
        b.room = has_content ? mutable_byte_view(b.memory) : size_only<std::byte>(room);
    }
    const bool around = goes_around_ring(bytes_max, way);
    const int streams = around ? (std::min)(world_ - 1, 1) : world_ - 1;
    const int blocks = around ? world_ - 1 : 1;
    const int sends = around ? sends_to_one : sends_to_each;
    incoming_.reserve(static_cast<std::size_t>(streams));
    outgoing_.reserve(static_cast<std::size_t>(streams));
    for (int hop = 1; hop <= streams; ++hop) {
        incoming_.emplace_back(through, rank_at(-hop), hop, blocks, 1);
        outgoing_.emplace_back(through, rank_at(hop), 0, blocks, sends);
    }
    through.reserve(std::int64_t{streams} * (1 + sends));
}

SOTTO_DECL void all_gather_v::start(byte_view own, tag label) {
    if (!complete()) throw std::logic_error("all_gather: started before it was complete");
    if (static_cast<std::int64_t>(own.size()) > bytes_max_)
        throw invalid_option("all_gather: a block of " + std::to_string(own.size()) +
                             " bytes, but bound for at most " + std::to_string(bytes_max_));

    if (native_) return native_.start(own);
    label_ = label;
    for (block& b : blocks_) {
        b.content = {};
        b.is_here = false;
    }
    block_behind(0).content = own;
    block_behind(0).is_here = true;
    for (stream& from : incoming_) {
        from.restart();
        receive_next(from);
    }
    for (stream& to : outgoing_) to.restart();
    advance();
}

SOTTO_DECL bool all_gather_v::advance() {
    if (native_) return native_.advance();
    for (stream& from : incoming_) receive_what_came(from);
    for (stream& to : outgoing_) send_what_is_here(to);
    return complete();
}

SOTTO_DECL bool all_gather_v::arrived(int rank) const noexcept {
    if (native_) return native_.complete();
    return block_at(rank).is_here;
}

SOTTO_DECL byte_view all_gather_v::block_of(int rank) const noexcept {
    if (native_) return native_.block_of(rank);
    return block_at(rank).content;
}

SOTTO_DECL all_gather_v::stream::stream(transport_ref through, int other, int first, int blocks,
                                        int messages_max)
    : peer(other),
      first_hop(first),
      count(blocks),
      done(blocks),
      messages(through, static_cast<std::size_t>(messages_max)) {}

SOTTO_DECL void all_gather_v::stream::count_in(std::int64_t size, std::int64_t bytes_max) noexcept {
    moved += size;
    if (size == message_max && moved < bytes_max) return;
    moved = 0;
    ++done;
}

SOTTO_DECL void all_gather_v::receive_next(stream& from) {
    const auto size = (std::min)(message_max, bytes_max_ - from.moved);
    const mutable_byte_view room = block_behind(from.hop()).room;
    from.messages.push(through_.receive(
        from.peer, label_,
        room.subspan(static_cast<std::size_t>(from.moved), static_cast<std::size_t>(size))));
}

SOTTO_DECL void all_gather_v::receive_what_came(stream& from) {
    while (const auto ended = from.messages.pop_complete()) {
        block& b = block_behind(from.hop());
        const int before = from.done;
        b.content = byte_view(b.room).first(static_cast<std::size_t>(from.moved + ended->bytes));
        from.count_in(ended->bytes, bytes_max_);
        b.is_here = from.done > before;
        if (!from.all_moved()) receive_next(from);
    }
}

SOTTO_DECL void all_gather_v::send_what_is_here(stream& to) {
    while (to.messages.pop_complete()) {}
    while (!to.all_moved() && !to.messages.full()) {
        const block& b = block_behind(to.hop());
        const byte_view rest = b.content.subspan(static_cast<std::size_t>(to.moved));
        const byte_view message =
            rest.first((std::min)(rest.size(), static_cast<std::size_t>(message_max)));
        const auto size = static_cast<std::int64_t>(message.size());
        if (size < message_max && !b.is_here) break;
        to.messages.push(through_.send(to.peer, label_, message));
        to.count_in(size, bytes_max_);
    }
}

SOTTO_DECL bool all_gather_v::complete() const noexcept {
    if (native_) return native_.complete();
    const auto is_complete = [](const stream& s) { return s.is_complete(); };
    return std::all_of(incoming_.begin(), incoming_.end(), is_complete) &&
           std::all_of(outgoing_.begin(), outgoing_.end(), is_complete);
}

SOTTO_DECL const all_gather_v::block& all_gather_v::block_at(int rank) const noexcept {
    return blocks_[static_cast<std::size_t>(rank)];
}

SOTTO_DECL all_gather_v::block& all_gather_v::block_behind(int hop) noexcept {
    return blocks_[static_cast<std::size_t>(rank_at(-hop))];
}

}  // namespace sotto::detail::collectives
