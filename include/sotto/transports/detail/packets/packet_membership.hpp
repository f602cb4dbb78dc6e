#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/messaging/control_stream.hpp"
#include "sotto/transports/detail/messaging/membership.hpp"
#include "sotto/transports/detail/packets/packet_ends.hpp"
#include "sotto/transports/packet_library.hpp"
#include "sotto/transports/packet_options.hpp"
#include "sotto/transports/detail/packets/packet_streams.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/wire/detail/protocols/membership_report.hpp"

namespace sotto::detail::net {

/// Membership of a job whose ranks a packet library connects. It receives membership frames and
/// sends queued ones.
template <packet_library Library>
class packet_membership {
public:
    packet_membership(Library& through, packet_streams<Library>& streams,
                      const packet_options& options)
        : library_(&through),
          streams_(&streams),
          members_(through.rank(), through.size(), 0,
                   {options.heartbeat, options.dead_after, {}, Library::name}, seed_of,
                   through.now()) {}

    membership* operator->() noexcept { return &members_; }
    const membership* operator->() const noexcept { return &members_; }

    /// Seed of the digests from one rank to another.
    static std::uint64_t seed_of(int from, int to) noexcept {
        return static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
    }

    bool is_alive(int peer) const { return members_.of(peer) == membership::standing::alive; }
    bool has_left(int peer) const { return members_.of(peer) == membership::standing::left; }

    template <class Visitor>
    void for_each_other(Visitor&& visit) {
        for (int peer = 0; peer < library_->size(); ++peer)
            if (peer != library_->rank()) visit(peer);
    }

    void hear() {
        streams_->fetch(packet_kind::membership, [&](int peer) { heard_.push_back(peer); });
        std::erase_if(heard_, [&](int peer) {
            auto* const s = streams_->find(peer, packet_kind::membership);
            if (s) (void)s->read(end_of(peer));
            return !s || s->has_read_all();
        });
    }

    /// Sends queued frames.
    void speak() {
        if (const std::uint64_t said = members_.said(); std::exchange(spoken_, said) != said)
            for_each_other([&](int peer) {
                if (!silent_ && !members_.stream(peer).output().empty()) write(peer);
            });
        if constexpr (Library::drains) {
            streams_->for_each(packet_kind::membership, [&](int peer, auto& s) {
                if (silent_)
                    s.finish();
                else
                    s.write(end_of(peer));
            });
        } else {
            for (const int peer : std::exchange(full_, {})) write(peer);
        }
    }

    void accuse(int peer, const std::string& cause, errc code = errc::peer_failed) {
        members_.fail(peer, cause, code);
        speak();
    }

    /// Reports the failure of an awaited rank that is done.
    void accuse_if_left(int peer) {
        if (peer >= 0 && has_left(peer)) accuse(peer, "it left: it is done");
    }

    void tick_if_due(time_point present) {
        if (present >= members_.next_tick()) members_.tick(present);
    }

    /// For a caller that did not tick all the time.
    void tick_and_speak() {
        members_.tick((std::max)(library_->now(), members_.next_tick()));
        speak();
    }

    /// Ends the streams once all frames are sent. Returns true if they have ended.
    bool fall_silent() {
        bool all_said = true;
        for_each_other(
            [&](int peer) { all_said = all_said && members_.stream(peer).output().empty(); });
        if (!silent_ && all_said) {
            silent_ = true;
            for_each_other([&](int peer) { stream_to(peer).end(); });
        }
        return silent_;
    }

    // While ranks may leave and return

    /// Removes the streams of the next rank that failed or left, and returns it. Before that it
    /// calls `read_what_came`: messages may be there, unless the rank sent invalid data.
    template <class Visitor>
    std::optional<int> let_go(Visitor&& read_what_came) {
        const auto gone = members_.next_gone();
        if (!gone) return std::nullopt;
        const bool is_readable = gone->code != errc::malformed && gone->code != errc::altered;
        if (is_readable) read_what_came(gone->rank);
        // The last frame to it reports that it was dropped. A new stream would start with frames
        // that have left.
        control_stream& words = members_.stream(gone->rank);
        if (!words.output().empty()) write(gone->rank);
        words.written(words.output().size());
        streams_->forget(gone->rank);
        changes_.push_back({gone->rank, false, gone->code == errc{}, gone->cause});
        return gone->rank;
    }

    void readmit(int peer) {
        const int self = library_->rank();
        // Drop frames to the previous process, and its packets that were not read. They may have
        // arrived after its end was known, and would be taken for the new process's packets.
        streams_->fetch(packet_kind::messages);
        streams_->forget(peer);
        members_.readmit(peer,
                         {0, seed_of(self, peer), seed_of(peer, self),
                          wire::report_bytes_max(static_cast<std::size_t>(library_->size()))},
                         library_->now());
        changes_.push_back({peer, true});
    }

    /// True if messages may be sent to it: always, unless ranks may leave and return.
    bool is_here(int peer) const noexcept {
        return !members_.tolerates() || (is_alive(peer) && !is_unheard(peer));
    }

    /// True if it joined again and the user does not know yet. Nothing is received from it before.
    bool is_unheard(int peer) const noexcept {
        return std::any_of(changes_.begin(), changes_.end(),
                           [&](const rank_change& c) { return c.is_here && c.rank == peer; });
    }

    std::optional<rank_change> next_change() {
        if (changes_.empty()) return std::nullopt;
        rank_change first = std::move(changes_.front());
        changes_.pop_front();
        return first;
    }

private:
    membership_end end_of(int peer) noexcept { return {&members_, peer, library_->now()}; }
    auto& stream_to(int peer) { return streams_->of(peer, packet_kind::membership); }
    void write(int peer) {
        auto& s = stream_to(peer);
        s.write(end_of(peer));
        if (!Library::drains && s.is_full() &&
            std::find(full_.begin(), full_.end(), peer) == full_.end())
            full_.push_back(peer);
    }

    Library* library_;
    packet_streams<Library>* streams_;
    membership members_;
    std::uint64_t spoken_ = 0;  // frames that were queued at the last call
    bool silent_ = false;       // all frames are sent, and the streams ended
    std::vector<int> heard_;    // ranks whose packets were not all read
    std::vector<int> full_;     // ranks with more frames than may be in flight
    std::deque<rank_change> changes_;
};

}  // namespace sotto::detail::net
