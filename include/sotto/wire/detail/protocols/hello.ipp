#pragma once

#include "sotto/wire/detail/protocols/hello.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

SOTTO_DECL std::uint64_t opening_digest(const std::byte* from, std::size_t count) noexcept {
    return frame_digest({from, count}, 0);
}

SOTTO_DECL std::array<std::byte, hello_bytes> written_hello(const hello& h) noexcept {
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

SOTTO_DECL result<hello> read_hello(const std::byte* from) noexcept {
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
