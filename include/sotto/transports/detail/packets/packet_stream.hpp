#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/size_only.hpp"
#include "sotto/core/result.hpp"
#include "sotto/transports/detail/messaging/ring_queue.hpp"
#include "sotto/transports/packet_library.hpp"

namespace sotto::detail::net {

/// Buffers of one size for packets in flight, which are reused.
class packet_buffers {
public:
    static constexpr std::size_t bytes_each = 16384;

    std::byte* take();
    void give_back(std::byte* buffer) noexcept { free_.push_back(buffer); }

private:
    std::vector<std::unique_ptr<std::byte[]>> all_;
    std::vector<std::byte*> free_;
};

/// Two byte streams between this rank and another, one in each direction, in packets.
///
/// Short pieces are put together and copied. Long ones are sent from the lent memory, each in its
/// own packet, so that they arrive in place.
///   Source  output(): pieces to send, in order; written(n): n bytes of them have left
///   Sink    room(n): memory for the next n bytes, or nothing. Then filled(n), or take(bytes) if
///           there was no memory. Both may return a fault if they refuse the bytes
template <packet_library Library>
class packet_stream {
public:
    packet_stream(Library& through, packet_buffers& buffers, int peer, packet_kind kind)
        : through_(&through), buffers_(&buffers), peer_(peer), kind_(kind) {}
    packet_stream(const packet_stream&) = delete;
    packet_stream& operator=(const packet_stream&) = delete;
    /// Drops packets that will not be received, for libraries that keep them until then.
    ~packet_stream() {
        if constexpr (requires(const typename Library::packet& p) { through_->forget(p); })
            for (; !arrived_.empty(); arrived_.pop()) through_->forget(arrived_.front());
    }

    // Out

    /// Starts to send what the source has, and reports what has left.
    template <class Source>
    void write(Source&& from) {
        finish([&](std::size_t count) { from.written(count); });
        while (leaving_.size() < leaving_max) {
            outgoing next = pack(from.output());
            if (next.content.empty()) return;
            start(next);
            started_ += next.content.size();
        }
    }

    /// True if the maximum of packets is in flight. The source may have more.
    bool is_full() const noexcept { return leaving_.size() >= leaving_max; }

    /// Completes sends without reporting them.
    void finish() {
        finish([](std::size_t) {});
    }

    /// Ends the outgoing stream.
    void end() { start({}); }

    bool is_sending() const noexcept { return !leaving_.empty(); }
    bool is_receiving() const noexcept { return receiving_.has_value(); }

    // In

    /// Adds a packet that arrived from the peer.
    void came(typename Library::packet packet) { arrived_.push(std::move(packet)); }

    template <class Sink>
    std::optional<fault> read(Sink&& to) {
        while (receiving_ || !arrived_.empty()) {
            if (!receiving_) receive_next(to);
            if (!through_->complete(*receiving_)) break;
            receiving_.reset();
            if (const auto why = take_in(to, arriving_)) return why;
        }
        return std::nullopt;
    }

    /// True if all packets that arrived were read.
    bool has_read_all() noexcept { return !receiving_ && arrived_.empty(); }

    /// True if the peer has ended its stream.
    bool ended() const noexcept { return ended_; }

    /// True if the library still accesses memory that is not the stream's own. Copied bytes do not
    /// count.
    bool borrows() noexcept {
        if (receiving_ && arrives_there_) return true;
        if constexpr (Library::copies) return false;
        for (std::size_t i = 0; i < leaving_.size(); ++i)
            if (leaving_[i].is_lent) return true;
        return false;
    }

private:
    // Maximum size of a piece to copy: the library would copy it too, and its memory is free at
    // once.
    static constexpr std::size_t copied_max = 8192;
    static constexpr std::size_t leaving_max = 8;

    struct outgoing {
        byte_view content{};
        std::byte* buffer = nullptr;  // holds the content, and is given back
        bool is_lent = false;
        typename Library::operation operation{};
    };

    void start(outgoing next) {
        next.operation = through_->send(peer_, kind_, next.content);
        if constexpr (Library::copies)
            if (next.buffer) buffers_->give_back(std::exchange(next.buffer, nullptr));
        leaving_.push(next);
    }

    template <class Told>
    void finish(Told&& written) {
        while (!leaving_.empty() && through_->complete(leaving_.front().operation)) {
            const outgoing left = leaving_.front();
            leaving_.pop();
            if (left.buffer) buffers_->give_back(left.buffer);
            started_ -= (std::min)(started_, left.content.size());
            written(left.content.size());
        }
    }

    static std::span<const byte_view> pieces_of(const std::span<const byte_view>& many) noexcept {
        return many;
    }
    static std::span<const byte_view> pieces_of(const byte_view& one) noexcept { return {&one, 1}; }

    /// Next packet of a source's output, behind what was started.
    template <class Pieces>
    outgoing pack(const Pieces& output) {
        std::size_t skip = started_, size = 0;
        std::byte* buffer = nullptr;
        for (byte_view piece : pieces_of(output)) {
            const std::size_t gone = (std::min)(skip, piece.size());
            skip -= gone;
            piece = piece.subspan(gone);
            if (piece.empty()) continue;
            // Only messages keep their memory valid until they have left.
            if (kind_ == packet_kind::messages &&
                (piece.size() > copied_max || !has_content(piece))) {
                if (buffer) break;
                return {
                    .content = piece.first((std::min)(piece.size(), through_->packet_bytes_max())),
                    .is_lent = true};
            }
            if (!buffer) buffer = buffers_->take();
            const std::size_t count = (std::min)(piece.size(), packet_buffers::bytes_each - size);
            std::copy_n(piece.data(), count, buffer + size);
            size += count;
            if (count < piece.size()) break;
        }
        return {.content = byte_view(buffer, size), .buffer = buffer};
    }

    template <class Sink>
    void receive_next(Sink& to) {
        const typename Library::packet packet = arrived_.front();
        arriving_ = packet.size;
        mutable_byte_view room = to.room(arriving_);
        arrives_there_ = room.size() == arriving_ && arriving_ > 0;
        if (!arrives_there_) {
            if (arriving_ > packet_buffers::bytes_each) {
                if (staged_.size() < arriving_) staged_.resize(arriving_);
                staging_ = staged_.data();
            } else {
                staging_ = staging_buffer_ = buffers_->take();
            }
            room = {staging_, arriving_};
        }
        receiving_ = through_->receive(packet, room);
        arrived_.pop();
    }

    /// Passes received bytes to the sink, which may refuse them.
    template <class Sink>
    std::optional<fault> take_in(Sink& to, std::size_t size) {
        if (size == 0) ended_ = true;
        std::optional<fault> why;
        if (size > 0) why = arrives_there_ ? to.filled(size) : to.take({staging_, size});
        if (staging_buffer_) buffers_->give_back(std::exchange(staging_buffer_, nullptr));
        return why;
    }

    Library* through_;
    packet_buffers* buffers_;
    int peer_;
    packet_kind kind_;
    ring_queue<outgoing, 2> leaving_;  // small: there may be a stream to each of many ranks
    std::size_t started_ = 0;          // bytes of the source's output in packets in flight
    ring_queue<typename Library::packet, 2> arrived_;
    std::optional<typename Library::operation> receiving_;
    std::size_t arriving_ = 0;  // size of the packet that is received
    bool arrives_there_ = false;
    std::byte* staging_ = nullptr;         //   memory  for it, if not in place:
    std::byte* staging_buffer_ = nullptr;  // one of the buffers,
    bytes staged_;                         // or longer memory
    bool ended_ = false;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/packets/packet_stream.ipp"
#endif
