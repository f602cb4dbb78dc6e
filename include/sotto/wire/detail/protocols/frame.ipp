#pragma once

#include "sotto/wire/detail/protocols/frame.hpp"

#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/detail/simd/digest.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

SOTTO_DECL std::uint64_t frame_digest(byte_view content, std::uint64_t seed) noexcept {
    return kernels::digest(content, seed);
}

SOTTO_DECL void write_frame_header(const frame_header& header, std::uint64_t seed,
                                   std::byte* to) noexcept {
    store_little_endian(to, frame_magic);
    to[2] = std::byte{protocol_version};
    to[3] = static_cast<std::byte>(header.type);
    store_little_endian(to + 4, header.epoch);
    store_little_endian(to + 8, header.sequence);
    store_little_endian(to + 16, header.channel);
    store_little_endian(to + 20, header.item);
    store_little_endian(to + 24, header.round);
    store_little_endian(to + 32, header.size);
    store_little_endian(to + 40, header.value);
    store_little_endian(to + 48, header.payload_digest);
    store_little_endian(to + 56, frame_digest({to, 56}, seed));
}

SOTTO_DECL result<frame_header> read_frame_header(const std::byte* from,
                                                  std::uint64_t seed) noexcept {
    const auto magic = load_little_endian<std::uint16_t>(from);
    if (magic != frame_magic) return fault{0, "a frame, which starts with 0x5073", magic};
    const auto version = std::to_integer<std::uint8_t>(from[2]);
    if (version != protocol_version) return fault{2, "version 1 of the protocol", version};
    const auto digest = load_little_endian<std::uint64_t>(from + 56);
    if (digests_are_checked && digest != frame_digest({from, 56}, seed))
        return fault{56, "the digest of the header before it", static_cast<std::int64_t>(digest)};
    const auto type = std::to_integer<std::uint8_t>(from[3]);
    if (type < static_cast<std::uint8_t>(frame_type::message) ||
        type > static_cast<std::uint8_t>(frame_type::part))
        return fault{3, "a type of frame, 1 to 10", type};
    return frame_header{static_cast<frame_type>(type),
                        load_little_endian<std::uint32_t>(from + 4),
                        load_little_endian<std::uint64_t>(from + 8),
                        load_little_endian<std::uint32_t>(from + 16),
                        load_little_endian<std::uint32_t>(from + 20),
                        load_little_endian<std::uint64_t>(from + 24),
                        load_little_endian<std::uint64_t>(from + 32),
                        load_little_endian<std::uint64_t>(from + 40),
                        load_little_endian<std::uint64_t>(from + 48)};
}

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
