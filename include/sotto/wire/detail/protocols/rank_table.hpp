#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"

namespace sotto::detail::wire {

constexpr std::uint32_t rank_table_magic = 0x61544f53;  // SOTa

/// Returns the bytes before the digest, for `world` ranks.
constexpr std::size_t rank_table_bytes(std::size_t world) noexcept {
    return 12 + 18 * world;
}

inline namespace SOTTO_UNIT {

/// Returns the bytes of a table of the places where ranks listen.
///   wire    | bytes | content, little endian               |
///           | 4     | SOTa                                 |
///           | 18 W  | for each rank 16 of address, 2 port  |
///           | 8     | XXH3-64 of all before                |
bytes written_rank_table(const std::vector<listening_place>& places);

/// Reads the table of a world of `world` ranks; requires rank_table_bytes(world) bytes.
///   errors  refuses other magic bytes and a damaged table
result<std::vector<listening_place>> read_rank_table(byte_view in, std::size_t world);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/protocols/rank_table.ipp"
#endif
