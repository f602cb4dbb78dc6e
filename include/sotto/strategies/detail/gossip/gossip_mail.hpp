#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "sotto/collectives/detail/flight.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/detail/protocols/gossip_word.hpp"

namespace sotto::detail {

/// Words between any two ranks, where ranks may come and go: those for a rank that is gone are
/// lost, and those of one come in the order in which it said them.
///   cost    120 bytes for each word under way; no memory is taken once as many were under way
///   errors  none for a word that cannot be read: its sender is then gone for this rank
class gossip_mail {
public:
    /// Borrows the transport.
    explicit gossip_mail(transport_ref through) : through_(through), inbox_(through, 1) {}
    gossip_mail(const gossip_mail&) = delete;
    gossip_mail& operator=(const gossip_mail&) = delete;
    /// Memory was lent for whatever is under way.
    ~gossip_mail();

    /// Sends a word; lost if that rank is gone.
    void say(int to, const wire::gossip_word& word);

    /// Calls with all that has come: take(from, word).
    template <class Take>
    void hear(Take take) {
        while (true) {
            if (inbox_.empty()) inbox_.push(through_.receive(any_rank, label(), heard_));
            const auto came = inbox_.pop_complete();
            if (!came || came->source == through_.rank()) return;
            bytes_ += came->bytes;
            const auto content = byte_view(heard_).first(static_cast<std::size_t>(came->bytes));
            if (const auto word = read(came->source, content)) take(came->source, *word);
        }
    }

    /// Whether all that was said has left.
    bool is_all_said();

    /// What of the transport's traffic was words, both ways.
    std::int64_t bytes() const noexcept { return bytes_; }

    /// Receives nothing more until it is asked to hear again, so that the transport is free.
    template <class Take>
    void close(Take take) {
        if (inbox_.empty()) return;
        letter& own = free_letter();  // ends the receive
        own.sent = through_.send(through_.rank(), label(), own.content);
        while (true) {
            const std::uint64_t seen = through_.activity();
            hear(take);
            if (inbox_.empty()) break;
            through_.await(seen);
        }
        (void)through_.wait(*std::exchange(own.sent, std::nullopt));
    }

    /// Whether a transfer is over, which is then none: complete, or its other end gone. Should this
    /// rank itself have failed, the next call says so. `size`: of one that is complete.
    bool ended(std::optional<request>& r, std::int64_t* size = nullptr);

private:
    struct letter {
        std::array<std::byte, wire::gossip_word_bytes> content;
        std::optional<request> sent;
    };

    static tag label() noexcept { return {channels::gossip, 1u << 28, 0}; }

    /// Returns nothing if it cannot be read. The transport then reports that rank as gone.
    std::optional<wire::gossip_word> read(int from, byte_view content);

    letter& free_letter();

    transport_ref through_;
    std::array<std::byte, wire::gossip_word_bytes> heard_{};
    std::deque<letter> letters_;
    std::int64_t bytes_ = 0;
    collectives::flight inbox_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/gossip/gossip_mail.ipp"
#endif
