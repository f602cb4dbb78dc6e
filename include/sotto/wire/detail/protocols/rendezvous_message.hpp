#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"

namespace sotto::detail::wire {

/// Kind of a message between ranks that have met, until all can begin.
enum class saying : std::uint8_t {
    welcome,  // accepts a hello
    refused,  // refuses a hello, or ends the job: see `why`
    alive,    // the sender still lives
    table,    // to all ranks: a table of where each listens follows
    ready,    // to rank 0: all connections exist
    lacks,    // to rank 0: no connection to rank `ours`; its own rank: too few descriptors
    go,       // from rank 0: all ranks are ready
};

/// Why a rank is refused.
enum class refusal : std::uint8_t {
    none,        // it is not refused
    version,     // ours and theirs: highest protocol versions
    job,         // digests of the job names
    world,       // world sizes
    rank,        // ours: the world size; theirs: the rank
    duplicate,   // theirs: the rank
    epoch,       // another epoch of the membership
    agreed,      // the agreed value with the index `which`
    unexpected,  // a connection that this rank does not expect
    absent,      // ours: a rank that never connected; theirs: number of such ranks
    lost,        // ours: a rank that connected and then left
};

/// A message between ranks that have met.
struct rendezvous_message {
    saying what = saying::welcome;  // kind of the message
    refusal why = refusal::none;    // only for saying::refused
    std::uint8_t which = 0;         // index of the agreed value at fault
    std::uint32_t rank = 0;         // rank that sends it
    std::uint64_t ours = 0;         // see refusal and saying
    std::uint64_t theirs = 0;       // see refusal
    std::uint64_t incarnation = 0;  // of the sender, see hello
    friend bool operator==(const rendezvous_message&, const rendezvous_message&) = default;
};

constexpr std::size_t rendezvous_message_bytes = 48;  // on the wire

constexpr std::uint32_t rendezvous_message_magic = 0x6f574f53;  // SOWo

inline namespace SOTTO_UNIT {

/// Returns the bytes of a message.
///   wire    | bytes | content, little endian             |
///           | 4     | SOWo                               |
///           | 1     | kind, 0 to 6                       |
///           | 1     | reason of a refusal, 0 to 10       |
///           | 1     | which agreed value                 |
///           | 1     | 0                                  |
///           | 4     | rank that sends it                 |
///           | 4     | 0                                  |
///           | 8     | its own value (ours)               |
///           | 8     | the value it received (theirs)     |
///           | 8     | its incarnation                    |
///           | 8     | XXH3-64 of all before              |
std::array<std::byte, rendezvous_message_bytes> written_rendezvous_message(
    const rendezvous_message& w) noexcept;

/// Reads a message; requires rendezvous_message_bytes at `from`.
///   errors  refuses other magic bytes, a damaged message, an unknown kind or reason, and a refusal
///           without its reason
result<rendezvous_message> read_rendezvous_message(const std::byte* from) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/protocols/rendezvous_message.ipp"
#endif
