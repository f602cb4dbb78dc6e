#pragma once

#include "sotto/transports/detail/messaging/framed_connection.hpp"

#include <algorithm>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/size_only.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::net {

SOTTO_DECL framed_connection::framed_connection(int peer, const link_terms& terms,
                                                match_table& board, std::uint64_t& activity)
    : peer_(peer),
      terms_(terms),
      board_(&board),
      activity_(&activity),
      credit_(terms.budget),
      allowance_(terms.budget),
      staged_(terms.staging) {}

SOTTO_DECL void framed_connection::send(transfer& t) {
    if (const std::int64_t charge = charge_of(t.size); charge <= credit_) {
        credit_ -= charge;
        push(wire::frame_type::message, &t);
    } else {
        if (announced_.size() >= announced_max)
            throw invalid_option("more than " + std::to_string(announced_max) +
                                 " messages wait until rank " + std::to_string(peer_) +
                                 " receives them");
        make_room(announced_);
        push(wire::frame_type::announce, &t, announcements_sent_);
        announced_.push_back({announcements_sent_++, &t});
    }
}

SOTTO_DECL void framed_connection::hand_over(arrival& from, transfer& to) {
    switch (from.where) {
        case arrival::place::here:
            deliver(to, peer_, from.room());
            ++*activity_;
            give_back(from.size);
            board_->release(from);
            break;
        case arrival::place::coming: board_->claim(from, to); break;
        default:
            accept(from.announcement, from.size, to);
            --announcements_open_;
            board_->release(from);
    }
}

SOTTO_DECL std::span<const byte_view> framed_connection::output() {
    output_.clear();
    std::size_t skip = written_, total = 0;
    for (std::size_t i = 0;
         i < queue_.size() && output_.size() + 2 <= views_max && total < output_max; ++i) {
        outgoing_frame& frame = queue_[i];
        if (!frame.sealed) seal(frame);
        for (const byte_view piece : {byte_view(frame.header), frame.payload}) {
            const std::size_t gone = (std::min)(skip, piece.size());
            skip -= gone;
            total += piece.size() - gone;
            if (gone < piece.size()) output_.push_back(piece.subspan(gone));
        }
        if (!frame.rest.empty()) break;  // its next part is sent before the next frame
    }
    return output_;
}

SOTTO_DECL void framed_connection::written(std::size_t count) noexcept {
    written_ += count;
    while (!queue_.empty() && queue_.front().sealed && written_ >= queue_.front().size()) {
        outgoing_frame& frame = queue_.front();
        written_ -= frame.size();
        if (!frame.rest.empty()) {
            frame.type = wire::frame_type::part;
            frame.sealed = false;
            frame.begin_part(part());
            continue;
        }
        if (transfer* const sent = frame.carried) {
            sent->reached = transfer::stage::complete;
            ++*activity_;
        }
        queue_.pop();
    }
}

SOTTO_DECL std::array<mutable_byte_view, 2> framed_connection::input() noexcept {
    const mutable_byte_view lacking =
        content_.subspan(filled_).first(content_.empty() ? 0 : lacking_);
    const mutable_byte_view room = mutable_byte_view(staged_).subspan(staged_end_);
    const bool is_long = (rest_ > 0 && !content_.empty()) || lacking.size() >= staged_.size();
    return {lacking, is_long ? room.first(wire::frame_header_bytes - staged_end_) : room};
}

SOTTO_DECL std::optional<fault> framed_connection::received(std::size_t count, std::int64_t keeps) {
    tries_ = halted_ && tried_at_ == *activity_ ? tries_ + 1 : 0;
    tried_at_ = *activity_;
    asked_ = halted_ ? asked_ + 1 : 0;
    if (tries_ > tries_max || asked_ > asked_max) keeps = keeps_all;
    halted_ = false;
    const std::size_t direct = (std::min)(count, input()[0].size());
    filled_ += direct;
    lacking_ -= direct;
    staged_end_ += count - direct;
    while (true) {
        if (reading_) {
            take_staged();
            if (lacking_ > 0) break;
            if (const auto why = finish()) return why;
        }
        if (staged_end_ - staged_begin_ < wire::frame_header_bytes) break;
        const auto header = wire::read_frame_header(staged_.data() + staged_begin_, terms_.seed_in);
        if (!header) return header.why();
        halted_ = keeps != keeps_all && header->type == wire::frame_type::message &&
                  header->size > static_cast<std::uint64_t>(keeps) &&
                  !board_->has_receive(peer_, label_of(*header));
        if (halted_) break;
        staged_begin_ += wire::frame_header_bytes;
        if (const auto why = begin(*header)) return why;
    }
    // The rest is the start of a header, nothing, or a message at which it halted.
    std::copy(staged_.data() + staged_begin_, staged_.data() + staged_end_, staged_.data());
    staged_end_ -= staged_begin_;
    staged_begin_ = 0;
    return std::nullopt;
}

SOTTO_DECL void framed_connection::make_room(std::vector<announced_message>& in) {
    if (in.size() == in.capacity()) in.reserve(2 * in.size() + 16);
}

SOTTO_DECL void framed_connection::push(wire::frame_type type, transfer* about,
                                        std::uint64_t announcement) {
    outgoing_frame frame{.type = type, .about = about, .announcement = announcement};
    if (type == wire::frame_type::message || type == wire::frame_type::granted) {
        frame.carried = about;
        frame.rest = {about->source, static_cast<std::size_t>(about->size)};
        frame.begin_part(lacks_content(frame.rest) ? frame.rest.size() : part());
    }
    queue_.push(frame);
}

SOTTO_DECL void framed_connection::seal(outgoing_frame& frame) noexcept {
    wire::frame_header h{.type = frame.type, .epoch = terms_.epoch, .sequence = sent_++};
    if (frame.about) {
        h.channel = frame.about->label.channel;
        h.item = frame.about->label.item;
        h.round = frame.about->label.round;
        h.size = static_cast<std::uint64_t>(frame.about->size);
    }
    if (frame.type == wire::frame_type::ready || frame.type == wire::frame_type::granted)
        h.round = frame.announcement;
    if (frame.type == wire::frame_type::part) h.size = frame.payload.size();
    h.value = static_cast<std::uint64_t>(owed_);
    allowance_ += owed_;
    owed_ = 0;
    if (frame.carried && !lacks_content(frame.payload))
        h.payload_digest = wire::frame_digest(frame.payload, terms_.seed_out);
    wire::write_frame_header(h, terms_.seed_out, frame.header.data());
    frame.sealed = true;
}

SOTTO_DECL bool framed_connection::lacks_content(byte_view payload) const noexcept {
    return terms_.may_lack_content && !has_content(payload);
}

SOTTO_DECL bool framed_connection::lacks_content(const wire::frame_header& h) const noexcept {
    return terms_.may_lack_content && h.payload_digest == 0 && h.size > 0;
}

SOTTO_DECL void framed_connection::give_back(std::int64_t size) {
    owed_ += charge_of(size);
    const bool goes_along = !queue_.empty() && !queue_.back().sealed;
    if (owed_ >= terms_.budget / 4 && !goes_along) push(wire::frame_type::credit, nullptr);
}

SOTTO_DECL void framed_connection::accept(std::uint64_t announcement, std::int64_t size,
                                          transfer& receive) {
    receive.ended = {peer_, size};
    if (size > receive.size) {
        receive.reached = transfer::stage::too_long;
        ++*activity_;
        return;
    }
    make_room(expected_);
    push(wire::frame_type::ready, nullptr, announcement);
    expected_.push_back({announcement, &receive});
}

SOTTO_DECL std::optional<fault> framed_connection::begin(const wire::frame_header& h) {
    if (h.epoch != terms_.epoch)
        return fault{4, "the present epoch", static_cast<std::int64_t>(h.epoch), terms_.epoch};
    if (h.sequence != received_)
        return fault{8, "as the frame's number", static_cast<std::int64_t>(h.sequence),
                     static_cast<std::int64_t>(received_)};
    ++received_;
    if (h.value > static_cast<std::uint64_t>(terms_.budget - credit_))
        return fault{40, "no more credit than was taken", static_cast<std::int64_t>(h.value)};
    credit_ += static_cast<std::int64_t>(h.value);
    const auto size = static_cast<std::int64_t>(h.size);
    if (size < 0) return fault{32, "a size below 2^63", size};
    if ((rest_ > 0) != (h.type == wire::frame_type::part))
        return fault{3, rest_ > 0 ? "the next part of a message" : "a frame that begins anew",
                     static_cast<std::int64_t>(h.type)};
    switch (h.type) {
        case wire::frame_type::message: return begin_message(h, size);
        case wire::frame_type::granted: return begin_granted(h, size);
        case wire::frame_type::announce: return note(h, size);
        case wire::frame_type::ready: return grant(h);
        case wire::frame_type::credit: return begin_nothing(h);
        case wire::frame_type::part: return begin_part(h, size);
        default:
            return fault{3, "a frame about messages, of type 1 to 5 or 10",
                         static_cast<std::int64_t>(h.type)};
    }
}

SOTTO_DECL tag framed_connection::label_of(const wire::frame_header& h) noexcept {
    return {h.channel, h.item, h.round};
}

SOTTO_DECL std::optional<fault> framed_connection::begin_nothing(
    const wire::frame_header& h) noexcept {
    if (h.size != 0)
        return fault{32, "0 as the size of nothing", static_cast<std::int64_t>(h.size)};
    return std::nullopt;
}

SOTTO_DECL std::optional<fault> framed_connection::begin_message(const wire::frame_header& h,
                                                                 std::int64_t size) {
    if (size > allowance_ - overhead) return fault{32, "a message within the budget", size};
    allowance_ -= charge_of(size);
    if (transfer* const receive = board_->take_receive(peer_, label_of(h))) {
        give_back(size);
        return read_into(*receive, h);
    } else {
        arrival_ = &board_->add_arrival(peer_, label_of(h), size, arrival::place::coming,
                                        !lacks_content(h));
        begin_reading(h, arrival_->room());
        return std::nullopt;
    }
}

SOTTO_DECL std::optional<fault> framed_connection::begin_granted(const wire::frame_header& h,
                                                                 std::int64_t size) {
    const auto expected = find(expected_, h.round);
    if (expected == expected_.end())
        return fault{24, "a message that was asked for", static_cast<std::int64_t>(h.round)};
    transfer& receive = *expected->of;
    if (size != receive.ended.bytes)
        return fault{32, "bytes as announced", size, receive.ended.bytes};
    expected_.erase(expected);
    return read_into(receive, h);
}

SOTTO_DECL std::optional<fault> framed_connection::note(const wire::frame_header& h,
                                                        std::int64_t size) {
    const std::uint64_t number = announcements_received_++;
    if (transfer* const receive = board_->take_receive(peer_, label_of(h))) {
        accept(number, size, *receive);
        return std::nullopt;
    }
    if (announcements_open_ == announced_max)
        return fault{3, "at most 65536 open announcements",
                     static_cast<std::int64_t>(announced_max + 1)};
    ++announcements_open_;
    board_->add_arrival(peer_, label_of(h), size, arrival::place::at_sender).announcement = number;
    return std::nullopt;
}

SOTTO_DECL std::optional<fault> framed_connection::grant(const wire::frame_header& h) {
    if (const auto why = begin_nothing(h)) return why;
    const auto waiting = find(announced_, h.round);
    if (waiting == announced_.end())
        return fault{24, "an open announcement", static_cast<std::int64_t>(h.round)};
    push(wire::frame_type::granted, waiting->of, h.round);
    announced_.erase(waiting);
    return std::nullopt;
}

SOTTO_DECL std::vector<framed_connection::announced_message>::iterator framed_connection::find(
    std::vector<announced_message>& among, std::uint64_t number) noexcept {
    return std::find_if(among.begin(), among.end(),
                        [&](const announced_message& m) { return m.number == number; });
}

SOTTO_DECL std::optional<fault> framed_connection::read_into(transfer& receive,
                                                             const wire::frame_header& h) noexcept {
    receive_ = &receive;  // first: `abandon` may give this receive another message
    if (lacks_content(h) && has_content(receive.memory()))
        return fault{48, "content, not only its size", 0};
    receive.ended = {peer_, static_cast<std::int64_t>(h.size)};
    const bool fits = receive.ended.bytes <= receive.size;
    begin_reading(h, fits ? mutable_byte_view(receive.target, static_cast<std::size_t>(h.size))
                          : mutable_byte_view());
    return std::nullopt;
}

SOTTO_DECL void framed_connection::begin_reading(const wire::frame_header& h,
                                                 mutable_byte_view content) noexcept {
    content_ = content;
    filled_ = 0;
    const auto size = static_cast<std::size_t>(h.size);
    read_part(h, lacks_content(h) ? size : (std::min)(size, part()));
    rest_ = size - lacking_;
}

SOTTO_DECL std::optional<fault> framed_connection::begin_part(const wire::frame_header& h,
                                                              std::int64_t size) noexcept {
    const std::size_t due = (std::min)(rest_, part());
    if (h.size != due)
        return fault{32, "as bytes of the next part", size, static_cast<std::int64_t>(due)};
    read_part(h, due);
    rest_ -= due;
    return std::nullopt;
}

SOTTO_DECL void framed_connection::read_part(const wire::frame_header& h,
                                             std::size_t size) noexcept {
    reading_ = true;
    digest_ = h.payload_digest;
    part_begin_ = filled_;
    lacking_ = size;
}

SOTTO_DECL void framed_connection::take_staged() noexcept {
    const std::size_t taken = (std::min)(lacking_, staged_end_ - staged_begin_);
    if (filled_ < content_.size() && has_content(content_))
        std::copy_n(staged_.data() + staged_begin_, taken, content_.data() + filled_);
    filled_ = (std::min)(filled_ + taken, content_.size());
    staged_begin_ += taken;
    lacking_ -= taken;
}

SOTTO_DECL std::optional<fault> framed_connection::finish() {
    const mutable_byte_view content = content_.subspan(part_begin_, filled_ - part_begin_);
    reading_ = false;
    const bool dropped = receive_ && receive_->ended.bytes > receive_->size;
    if (digests_are_checked && !dropped && !lacks_content(content) &&
        wire::frame_digest(content, terms_.seed_in) != digest_)
        return fault{48, "the payload's digest, not that of other bytes",
                     static_cast<std::int64_t>(digest_)};
    if (rest_ > 0) return std::nullopt;
    content_ = {};
    filled_ = 0;
    transfer* const receive = std::exchange(receive_, nullptr);
    arrival* const kept = std::exchange(arrival_, nullptr);
    if (receive) {
        receive->reached = dropped ? transfer::stage::too_long : transfer::stage::complete;
        ++*activity_;
    } else {
        kept->where = arrival::place::here;
        if (kept->claimed_by) hand_over(*kept, *kept->claimed_by);
    }
    return std::nullopt;
}

}  // namespace sotto::detail::net
