#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// Type of a frame. The comments give the meaning of its field `value`.
enum class frame_type : std::uint8_t {
    message = 1,  // a message that the receiver has room for; value: returned credit
    announce,     // a message of `size` bytes waits at the sender; value: returned credit
    ready,        // the receiver has memory for announcement number `round`; value: returned credit
    granted,      // the message of announcement number `round`; value: returned credit
    credit,       // only returned credit; value: its amount
    heartbeat,    // value: rank that the sender waits for, plus 2
    vote,         // in poll `round` of ballot `value`; item: 1 for true
    report,       // payload: failed ranks and complete polls, see membership_report
    leave,        // the sender is done and closes the connection
    part,         // next part of the message before it; value: returned credit
};

/// Bytes of each part of a large message, except the last part. The first part is in the frame of
/// the message, and the others follow it at once. So each digest is computed and checked while its
/// bytes are in a cache and earlier parts are in flight.
constexpr std::int64_t message_part_bytes = 262144;

/// Header of a frame, before its payload.
struct frame_header {
    frame_type type = frame_type::message;  // type of the frame
    std::uint32_t epoch = 0;                // epoch of the membership
    std::uint64_t sequence = 0;             // number of frames sent before on this connection
    std::uint32_t channel = 0;              // channel, item and round: tag of the message
    std::uint32_t item = 0;                 // see tag
    std::uint64_t round = 0;                // see tag
    std::uint64_t size = 0;                 // bytes of the message, or of the part
    std::uint64_t value = 0;                // see frame_type
    std::uint64_t payload_digest = 0;       // XXH3-64 of the payload

    friend bool operator==(const frame_header&, const frame_header&) = default;
};

constexpr std::size_t frame_header_bytes = 64;  // on the wire

constexpr std::uint16_t frame_magic = 0x5073;  // first bytes of every frame

constexpr std::uint8_t protocol_version = 1;  // of this build

/// Returns XXH3-64 of bytes, seeded for one direction of one connection. It detects accidents, not
/// forgeries.
std::uint64_t frame_digest(byte_view content, std::uint64_t seed) noexcept;

/// Writes the 64 bytes of a header; requires as many at `to`.
///   wire    | bytes | content, little endian                                          |
///           | 2     | 0x5073, the letters s and P                                     |
///           | 1     | version of the protocol: 1                                      |
///           | 1     | type                                                            |
///           | 4     | epoch                                                           |
///           | 8     | sequence                                                        |
///           | 4     | channel                                                         |
///           | 4     | item                                                            |
///           | 8     | round                                                           |
///           | 8     | size                                                            |
///           | 8     | value                                                           |
///           | 8     | digest of the payload                                           |
///           | 8     | digest of the 56 bytes before                                   |
void write_frame_header(const frame_header& header, std::uint64_t seed, std::byte* to) noexcept;

/// Reads a header; requires 64 readable bytes at `from`.
///   errors  refuses another magic number, version or type, and a damaged header. The size is not
///           verified: bound it before use
result<frame_header> read_frame_header(const std::byte* from, std::uint64_t seed) noexcept;

}  // namespace sotto::detail::wire::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/protocols/frame.ipp"
#endif
