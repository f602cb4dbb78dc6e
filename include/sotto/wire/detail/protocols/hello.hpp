#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire {

/// What a connection is for.
enum class connection_purpose : std::uint8_t {
    rendezvous,  // to rank 0: to be told where the others listen; then control
    control,     // who lives, and votes
    data,        // messages
};

/// Where a rank listens: an IPv6 address, or an IPv4 one mapped into it.
struct listening_place {
    std::array<std::byte, 16> address{};  // most significant byte first
    std::uint16_t port = 0;               // in the host's order
    friend bool operator==(const listening_place&, const listening_place&) = default;
};

/// Values that all ranks must have alike for their frames to make sense; see agreed_name.
constexpr std::size_t agreed_values = 6;
/// Their values, or digests of them, by the index of their name.
using agreed_table = std::array<std::uint64_t, agreed_values>;

/// What they are called in errors.
constexpr const char* agreed_name(std::size_t index) noexcept {
    constexpr const char* names[agreed_values] = {"heartbeat", "dead_after", "timeout",
                                                  "budget",    "elastic",    "configuration"};
    return names[index];
}

/// What a rank says first on every connection.
struct hello {
    std::uint8_t version_lowest = protocol_version;               // of the protocol, that it speaks
    std::uint8_t version_highest = protocol_version;              // of the protocol, that it speaks
    connection_purpose purpose = connection_purpose::rendezvous;  // what the connection is for
    std::uint32_t rank = 0;                                       // that says it
    std::uint32_t world = 0;        // ranks of the job, as it was told
    std::uint32_t epoch = 0;        // of the membership
    listening_place listens;        // where others reach it
    std::uint64_t incarnation = 0;  // a random number of this start of the rank
    std::uint64_t job = 0;          // digest of the job's name
    agreed_table agreed{};          // what must be alike
    friend bool operator==(const hello&, const hello&) = default;
};

constexpr std::size_t hello_bytes = 56 + 8 * (agreed_values + 1);  // on the wire
constexpr std::uint32_t hello_magic = 0x6f4c4f53;                  // SOLo

inline namespace SOTTO_UNIT {

inline std::uint64_t opening_digest(const std::byte* from, std::size_t count) noexcept {
    return frame_digest({from, count}, 0);
}

/// Bytes of a hello.
///   wire    | bytes | content, little endian             |
///           | 4     | SOLo                               |
///           | 1, 1  | lowest and highest version         |
///           | 1     | purpose: 0, 1, 2                   |
///           | 1     | 0                                  |
///           | 4     | rank                               |
///           | 4     | world size                         |
///           | 4     | epoch                              |
///           | 2     | port it listens on                 |
///           | 2     | 0                                  |
///           | 16    | address it listens on              |
///           | 8     | incarnation                        |
///           | 8     | digest of the job's name           |
///           | 48    | agreed values                      |
///           | 8     | XXH3-64 of all before              |
inline std::array<std::byte, hello_bytes> written_hello(const hello& h) noexcept {
    std::array<std::byte, hello_bytes> out{};
    std::byte* const to = out.data();
    store_little_endian(to, hello_magic);
    to[4] = std::byte{h.version_lowest};
    to[5] = std::byte{h.version_highest};
    to[6] = static_cast<std::byte>(h.purpose);
    store_little_endian(to + 8, h.rank);
    store_little_endian(to + 12, h.world);
    store_little_endian(to + 16, h.epoch);
    store_little_endian(to + 20, h.listens.port);
    std::memcpy(to + 24, h.listens.address.data(), 16);
    store_little_endian(to + 40, h.incarnation);
    store_little_endian(to + 48, h.job);
    store_little_endian(to + 56, std::span<const std::uint64_t>(h.agreed));
    store_little_endian(to + hello_bytes - 8, opening_digest(to, hello_bytes - 8));
    return out;
}

/// Reads a hello; requires hello_bytes at `from`.
///   errors  refuses other magic bytes, an unknown purpose, incarnation 0 and a damaged one.
///           Versions are read whatever they are, so that an answer can name both sides'
inline result<hello> read_hello(const std::byte* from) noexcept {
    const auto magic = load_little_endian<std::uint32_t>(from);
    if (magic != hello_magic) return fault{0, "a hello, which starts with SOLo", magic};
    const auto digest = load_little_endian<std::uint64_t>(from + hello_bytes - 8);
    if (digests_are_checked && digest != opening_digest(from, hello_bytes - 8))
        return fault{hello_bytes - 8, "the digest of the hello before it",
                     static_cast<std::int64_t>(digest)};
    const auto purpose = std::to_integer<std::uint8_t>(from[6]);
    if (purpose > static_cast<std::uint8_t>(connection_purpose::data))
        return fault{6, "a purpose, 0 to 2", purpose};
    hello h;
    h.version_lowest = std::to_integer<std::uint8_t>(from[4]);
    h.version_highest = std::to_integer<std::uint8_t>(from[5]);
    h.purpose = static_cast<connection_purpose>(purpose);
    h.rank = load_little_endian<std::uint32_t>(from + 8);
    h.world = load_little_endian<std::uint32_t>(from + 12);
    h.epoch = load_little_endian<std::uint32_t>(from + 16);
    h.listens.port = load_little_endian<std::uint16_t>(from + 20);
    std::memcpy(h.listens.address.data(), from + 24, 16);
    h.incarnation = load_little_endian<std::uint64_t>(from + 40);
    if (h.incarnation == 0) return fault{40, "an incarnation, which is not 0", 0};
    h.job = load_little_endian<std::uint64_t>(from + 48);
    load_little_endian(from + 56, std::span<std::uint64_t>(h.agreed));
    return h;
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
