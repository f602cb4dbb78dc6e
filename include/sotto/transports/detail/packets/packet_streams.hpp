#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "sotto/transports/detail/packets/packet_stream.hpp"
#include "sotto/transports/packet_library.hpp"

namespace sotto::detail::net {

/// Streams between this rank and the others. A stream is made at its first use or at its first
/// packet: in a large job most pairs of ranks do not communicate.
template <packet_library Library>
class packet_streams {
public:
    using stream = packet_stream<Library>;

    packet_streams(Library& through, int size) : through_(&through) {
        for (auto& of_kind : all_) of_kind.resize(static_cast<std::size_t>(size));
    }

    stream& of(int peer, packet_kind kind) {
        auto& found = all_[index(kind)][static_cast<std::size_t>(peer)];
        if (!found) {
            found = std::make_unique<stream>(*through_, buffers_, peer, kind);
            used_[index(kind)].push_back(peer);
        }
        return *found;
    }

    /// Null if there is none.
    stream* find(int peer, packet_kind kind) noexcept {
        return all_[index(kind)][static_cast<std::size_t>(peer)].get();
    }

    /// Calls visit(rank, stream) for each stream.
    template <class Visitor>
    void for_each(packet_kind kind, Visitor&& visit) {
        // By index: a visitor may add a stream.
        for (std::size_t i = 0; i < used_[index(kind)].size(); ++i) {
            const int peer = used_[index(kind)][i];
            visit(peer, of(peer, kind));
        }
    }

    /// True if bytes of this kind are in flight.
    bool move(packet_kind kind) {
        bool some = false;
        for_each(kind,
                 [&](int, const stream& s) { some = some || s.is_sending() || s.is_receiving(); });
        return some;
    }

    /// Removes the streams of a rank whose process ended or was replaced.
    void forget(int peer) {
        for (std::size_t kind = 0; kind < all_.size(); ++kind) {
            auto& found = all_[kind][static_cast<std::size_t>(peer)];
            if (!found) continue;
            found->finish();
            found.reset();
            std::erase(used_[kind], peer);
        }
    }

    /// Fetches packets from the library, in each rank's order of sending.
    void fetch(packet_kind kind) {
        fetch(kind, [](int) {});
    }

    /// Calls begins(rank) for each rank whose earlier packets were all read.
    template <class Visitor>
    void fetch(packet_kind kind, Visitor&& begins) {
        while (auto packet = through_->next(kind)) {
            const int from = packet->source;
            stream& to = of(from, kind);
            if (to.has_read_all()) begins(from);
            to.came(std::move(*packet));
        }
    }

private:
    static constexpr std::size_t index(packet_kind kind) noexcept {
        return static_cast<std::size_t>(kind);
    }

    Library* through_;
    packet_buffers buffers_;
    std::array<std::vector<std::unique_ptr<stream>>, 2> all_;  // by kind, then by rank
    std::array<std::vector<int>, 2> used_;
};

}  // namespace sotto::detail::net
