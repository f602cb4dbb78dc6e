#pragma once

#include "sotto/wire/detail/blocks/sparse_pair.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/wire/detail/coding/index_pair.hpp"
#include "sotto/wire/sparse_block.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

template <std::unsigned_integral Index>
std::optional<std::array<sparse_entries<Index>, 2>> decode_sparse_pair(
    const std::array<sized_block, 2>& blocks, std::span<Index> indices,
    std::span<float> values) noexcept {
    const std::size_t room = (std::min)(indices.size(), values.size());
    const auto a = split_sparse(blocks[0].in, blocks[0].n, room);
    if (!a) return std::nullopt;
    const auto b = split_sparse(blocks[1].in, blocks[1].n, room - a->entries);
    if (!b) return std::nullopt;
    const std::array at{indices.first(a->entries), indices.subspan(a->entries, b->entries)};
    const std::array to{values.first(a->entries), values.subspan(a->entries, b->entries)};
    if (!decode_index_pair<Index>({blocks[0].n, a->indices, at[0]},
                                  {blocks[1].n, b->indices, at[1]}) ||
        !read_values(a->head.format, a->values, to[0]) ||
        !read_values(b->head.format, b->values, to[1]))
        return std::nullopt;
    return std::array{sparse_entries<Index>{at[0], to[0]}, sparse_entries<Index>{at[1], to[1]}};
}

SOTTO_DECL std::optional<std::array<sparse_entries<std::uint32_t>, 2>> decode_sparse_pair(
    const std::array<sized_block, 2>& blocks, std::span<std::uint32_t> indices,
    std::span<float> values) noexcept {
    return decode_sparse_pair<std::uint32_t>(blocks, indices, values);
}

SOTTO_DECL std::optional<std::array<sparse_entries<std::uint64_t>, 2>> decode_sparse_pair(
    const std::array<sized_block, 2>& blocks, std::span<std::uint64_t> indices,
    std::span<float> values) noexcept {
    return decode_sparse_pair<std::uint64_t>(blocks, indices, values);
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
