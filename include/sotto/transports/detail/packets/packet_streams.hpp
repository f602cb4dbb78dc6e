#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "sotto/transports/detail/packets/packet_stream.hpp"
#include "sotto/transports/packet_library.hpp"

namespace sotto::detail::net {

/// The streams between this rank and the others. One is made when it is first asked for, or when
/// its first packet comes: among many ranks most have nothing to say to each other.
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

    /// Calls with each rank with which there is one, and with it.
    template <class Visitor>
    void for_each(packet_kind kind, Visitor&& visit) {
        // By index: a visitor may make another one.
        for (std::size_t i = 0; i < used_[index(kind)].size(); ++i) {
            const int peer = used_[index(kind)][i];
            visit(peer, of(peer, kind));
        }
    }

    /// Whether bytes of this kind are on their way.
    bool move(packet_kind kind) {
        bool some = false;
        for_each(kind,
                 [&](int, const stream& s) { some = some || s.is_sending() || s.is_receiving(); });
        return some;
    }

    /// Another process is this rank now, or none: its streams begin anew.
    void forget(int peer) {
        for (std::size_t kind = 0; kind < all_.size(); ++kind) {
            auto& found = all_[kind][static_cast<std::size_t>(peer)];
            if (!found) continue;
            found->finish();
            found.reset();
            std::erase(used_[kind], peer);
        }
    }

    /// Takes packets from the library, in the order in which each rank sent them.
    void fetch(packet_kind kind) {
        fetch(kind, [](int) {});
    }

    /// Calls with each rank of which all had been read before.
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
    std::array<std::vector<std::unique_ptr<stream>>, 2> all_;  // of each kind, by rank
    std::array<std::vector<int>, 2> used_;
};

}  // namespace sotto::detail::net
