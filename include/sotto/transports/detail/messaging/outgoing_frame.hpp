#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/transports/detail/messaging/match_table.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"

namespace sotto::detail::net {

/// A frame that waits until it is written. One that carries a message in parts becomes each of them
/// in turn.
struct outgoing_frame {
    wire::frame_type type = wire::frame_type::credit;
    bool sealed = false;          // its header is written
    transfer* about = nullptr;    // the send that it belongs to
    transfer* carried = nullptr;  // the same if its message follows
    std::uint64_t announcement = 0;
    std::array<std::byte, wire::frame_header_bytes> header{};
    byte_view payload{};
    byte_view rest{};  // of the message, for the parts after this one

    std::size_t size() const noexcept { return header.size() + payload.size(); }

    /// Takes at most `most` next bytes of the message as its payload.
    void begin_part(std::size_t most) noexcept;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/outgoing_frame.ipp"
#endif
