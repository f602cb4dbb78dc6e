#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// What a frame is for. `value` is the meaning of its field of that name.
enum class frame_type : std::uint8_t {
    message = 1,  // a message that the receiver has room for; value: credit given back
    announce,     // a message of `size` bytes waits at the sender; value: likewise
    ready,        // there is memory for the announcement number `round`; value: likewise
    granted,      // the message of the announcement number `round`; value: likewise
    credit,       // nothing but credit given back: value
    heartbeat,    // value: whom its sender waits for, plus 2
    vote,         // in poll `round` of the ballot `value`; item: 1 for true
    report,       // payload: who failed and which polls are complete, see membership_report
    leave,        // its sender is done, and closes the connection
    part,         // what follows of the message before it; value: credit given back
};

/// Where messages go in parts: bytes of each but the last. The first goes with the message's own
/// frame, the others follow it at once. So a digest is computed, and checked, of bytes that are in
/// a cache, while those before them are on their way.
constexpr std::int64_t message_part_bytes = 262144;

/// What stands before every payload.
struct frame_header {
    frame_type type = frame_type::message;  // what it is for
    std::uint32_t epoch = 0;                // of the membership
    std::uint64_t sequence = 0;             // frames sent before on this connection
    std::uint32_t channel = 0;              // these three: the message's tag
    std::uint32_t item = 0;                 // see tag
    std::uint64_t round = 0;                // see tag
    std::uint64_t size = 0;                 // bytes of the message; of a part those of the part
    std::uint64_t value = 0;                // see frame_type
    std::uint64_t payload_digest = 0;       // XXH3-64 of the payload

    friend bool operator==(const frame_header&, const frame_header&) = default;
};

constexpr std::size_t frame_header_bytes = 64;  // on the wire

constexpr std::uint16_t frame_magic = 0x5073;  // what every frame begins with

constexpr std::uint8_t protocol_version = 1;  // that this build speaks

/// XXH3-64 of bytes, seeded for one direction of one connection: it finds accidents, not forgeries.
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
///   errors  refuses another magic number, version or type, and a header that was damaged. The
///           size is the sender's word: bound it before use
result<frame_header> read_frame_header(const std::byte* from, std::uint64_t seed) noexcept;

}  // namespace sotto::detail::wire::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/protocols/frame.ipp"
#endif
