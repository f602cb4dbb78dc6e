#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"

namespace sotto::detail::wire {

/// What ranks that have met say to each other until all can begin.
enum class saying : std::uint8_t {
    welcome,  // the answer to a hello that is accepted
    refused,  // the answer to one that is not, or the end of the job: `why` says it
    alive,    // nothing else: its sender is still there
    table,    // to all, who listens where: a table of ranks follows
    ready,    // to rank 0: all connections are there
    lacks,    // to rank 0: none to rank `ours` in time
    go,       // from rank 0: all are ready
};

/// Why a rank is refused.
enum class refusal : std::uint8_t {
    none,        // it is not
    version,     // ours and theirs: highest versions
    job,         // digests of the names
    world,       // sizes
    rank,        // ours: the size; theirs: the rank
    duplicate,   // theirs: the rank
    epoch,       // of the membership: another one
    agreed,      // of the agreed values, the one called `which`
    unexpected,  // a connection that this rank does not wait for
    absent,      // ours: a rank that never came; theirs: how many did not
    lost,        // ours: a rank that had come and is gone
};

/// What is said, and what is needed to understand it.
struct rendezvous_message {
    saying what = saying::welcome;  // what is said
    refusal why = refusal::none;    // for saying::refused alone
    std::uint8_t which = 0;         // of the agreed values, where one of them is at fault
    std::uint32_t rank = 0;         // that says it
    std::uint64_t ours = 0;         // see refusal and saying
    std::uint64_t theirs = 0;       // see refusal
    std::uint64_t incarnation = 0;  // of the rank's start, see hello
    friend bool operator==(const rendezvous_message&, const rendezvous_message&) = default;
};

constexpr std::size_t rendezvous_message_bytes = 48;  // on the wire

constexpr std::uint32_t rendezvous_message_magic = 0x6f574f53;  // SOWo

inline namespace SOTTO_UNIT {

/// Bytes of a message.
///   wire    | bytes | content, little endian             |
///           | 4     | SOWo                               |
///           | 1     | what it says, 0 to 6               |
///           | 1     | why something is refused, 0 to 10  |
///           | 1     | which agreed value                 |
///           | 1     | 0                                  |
///           | 4     | rank that says it                  |
///           | 4     | 0                                  |
///           | 8     | its value                          |
///           | 8     | the value that was said to it      |
///           | 8     | its incarnation                    |
///           | 8     | XXH3-64 of all before              |
std::array<std::byte, rendezvous_message_bytes> written_rendezvous_message(
    const rendezvous_message& w) noexcept;

/// Reads a message; requires rendezvous_message_bytes at `from`.
///   errors  refuses other magic bytes, a damaged one, a saying or refusal that there is not, and a
///           refusal without its reason
result<rendezvous_message> read_rendezvous_message(const std::byte* from) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/protocols/rendezvous_message.ipp"
#endif
