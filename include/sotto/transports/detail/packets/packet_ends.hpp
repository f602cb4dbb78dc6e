#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/result.hpp"
#include "sotto/transports/detail/messaging/membership.hpp"
#include "sotto/transports/detail/messaging/framed_connection.hpp"

// Ends of a packet_stream: sources and sinks of its bytes.

namespace sotto::detail::net {

struct link_end {
    framed_connection* link;

    std::span<const byte_view> output() const { return link->output(); }
    void written(std::size_t count) const noexcept { link->written(count); }

    mutable_byte_view room(std::size_t size) const noexcept;
    std::optional<fault> filled(std::size_t size) const { return link->received(size); }
    std::optional<fault> take(byte_view content) const;
};

struct membership_end {
    membership* members;
    int peer;
    time_point now;

    byte_view output() const noexcept { return members->stream(peer).output(); }
    void written(std::size_t count) const { members->stream(peer).written(count); }

    mutable_byte_view room(std::size_t) const noexcept { return {}; }
    std::optional<fault> filled(std::size_t) const noexcept { return std::nullopt; }
    std::optional<fault> take(byte_view content) const;
};

/// Drops all bytes.
struct nowhere {
    mutable_byte_view room(std::size_t) const noexcept { return {}; }
    std::optional<fault> filled(std::size_t) const noexcept { return std::nullopt; }
    std::optional<fault> take(byte_view) const noexcept { return std::nullopt; }
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/packets/packet_ends.ipp"
#endif
