#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"

namespace sotto::detail::wire {

/// Purpose of a connection.
enum class connection_purpose : std::uint8_t {
    rendezvous,  // to rank 0, which answers where the other ranks listen; then control
    control,     // liveness and votes
    data,        // messages
};

/// Address and port on which a rank listens: an IPv6 address, or an IPv4 address mapped into one.
struct listening_place {
    std::array<std::byte, 16> address{};  // most significant byte first
    std::uint16_t port = 0;               // in host byte order
    friend bool operator==(const listening_place&, const listening_place&) = default;
};

/// Number of values that must be equal on all ranks so that they understand each other's frames;
/// see agreed_name.
constexpr std::size_t agreed_values = 6;

/// These values, or their digests, by the index of their name.
using agreed_table = std::array<std::uint64_t, agreed_values>;

/// Returns the name of a value for errors.
constexpr const char* agreed_name(std::size_t index) noexcept {
    constexpr const char* names[agreed_values] = {"heartbeat", "dead_after", "timeout",
                                                  "budget",    "elastic",    "configuration"};
    return names[index];
}

/// First message of a rank on every connection.
struct hello {
    std::uint8_t version_lowest = protocol_version;   // lowest protocol version that it supports
    std::uint8_t version_highest = protocol_version;  // highest protocol version that it supports
    connection_purpose purpose = connection_purpose::rendezvous;  // purpose of the connection
    std::uint32_t rank = 0;                                       // rank that sends it
    std::uint32_t world = 0;        // number of ranks in the job, as configured
    std::uint32_t epoch = 0;        // epoch of the membership
    listening_place listens;        // where others reach it
    std::uint64_t incarnation = 0;  // random number of this start of the rank
    std::uint64_t job = 0;          // digest of the job's name
    agreed_table agreed{};          // values that must be equal on all ranks
    friend bool operator==(const hello&, const hello&) = default;
};

constexpr std::size_t hello_bytes = 56 + 8 * (agreed_values + 1);  // on the wire

constexpr std::uint32_t hello_magic = 0x6f4c4f53;  // SOLo

inline namespace SOTTO_UNIT {

std::uint64_t opening_digest(const std::byte* from, std::size_t count) noexcept;

/// Returns the bytes of a hello.
///   wire    | bytes | content, little endian             |
///           | 4     | SOLo                               |
///           | 1, 1  | lowest and highest version         |
///           | 1     | purpose: 0, 1, 2                   |
///           | 1     | 0                                  |
///           | 4     | rank                               |
///           | 4     | world size                         |
///           | 4     | epoch                              |
///           | 2     | port on which it listens           |
///           | 2     | 0                                  |
///           | 16    | address on which it listens        |
///           | 8     | incarnation                        |
///           | 8     | digest of the job's name           |
///           | 48    | agreed values                      |
///           | 8     | XXH3-64 of all before              |
std::array<std::byte, hello_bytes> written_hello(const hello& h) noexcept;

/// Reads a hello; requires hello_bytes at `from`.
///   errors  refuses other magic bytes, an unknown purpose, incarnation 0 and a damaged hello. It
///           accepts any versions, so that an answer can name those of both sides
result<hello> read_hello(const std::byte* from) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/protocols/hello.ipp"
#endif
