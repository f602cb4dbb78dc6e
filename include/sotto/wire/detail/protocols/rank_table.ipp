#pragma once

#include "sotto/wire/detail/protocols/rank_table.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

SOTTO_DECL bytes written_rank_table(const std::vector<listening_place>& places) {
    bytes out(rank_table_bytes(places.size()));
    store_little_endian(out.data(), rank_table_magic);
    std::byte* at = out.data() + 4;
    for (const listening_place& place : places) {
        std::memcpy(at, place.address.data(), 16);
        store_little_endian(at + 16, place.port);
        at += 18;
    }
    store_little_endian(at, opening_digest(out.data(), out.size() - 8));
    return out;
}

SOTTO_DECL result<std::vector<listening_place>> read_rank_table(byte_view in, std::size_t world) {
    const auto magic = load_little_endian<std::uint32_t>(in.data());
    if (magic != rank_table_magic)
        return fault{0, "a table of ranks, which starts with SOTa", magic};
    const std::size_t end = rank_table_bytes(world) - 8;
    const auto digest = load_little_endian<std::uint64_t>(in.data() + end);
    if (digests_are_checked && digest != opening_digest(in.data(), end))
        return fault{static_cast<std::int64_t>(end), "the digest of the table before it",
                     static_cast<std::int64_t>(digest)};
    std::vector<listening_place> places(world);
    const std::byte* at = in.data() + 4;
    for (listening_place& place : places) {
        std::memcpy(place.address.data(), at, 16);
        place.port = load_little_endian<std::uint16_t>(at + 16);
        at += 18;
    }
    return places;
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
