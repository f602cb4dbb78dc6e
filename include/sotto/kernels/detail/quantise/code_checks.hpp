#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/code_sizes.hpp"
#include "sotto/kernels/detail/quantise/quantise_block.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

constexpr bool is_block_length(std::size_t block) noexcept {
    return std::has_single_bit(block) && block >= 256 && block <= std::size_t{1} << 20;
}

/// Checks the block length, and that an array has one element for each block.
inline void require_blocks(const char* function, std::size_t block, std::size_t values,
                           const sized& of_each) {
    if (!is_block_length(block)) [[unlikely]]
        refuse(function, given("block", block), "a power of two from 256 to 2^20");
    if (const std::size_t expected = blocks_of(values, block); of_each.size != expected)
        [[unlikely]]
        refuse(function, given_size(of_each.name, of_each.size),
               std::to_string(expected) + ", the blocks of " + std::to_string(block) + " in " +
                   std::to_string(values) + " values");
}

inline void require_codes(const char* function, std::size_t block, std::uint64_t first,
                          std::size_t values, std::size_t bits, std::size_t scales,
                          std::size_t bytes) {
    require_blocks(function, block, values, {"scales", scales});
    if (first % block != 0) [[unlikely]]
        refuse(function, given("first", first),
               "a multiple of " + std::to_string(block) + ", the block");
    if (const std::size_t expected = bytes_of_codes(values, bits); bytes != expected) [[unlikely]]
        refuse(function, given_size("codes", bytes),
               std::to_string(expected) + ", the bytes of " + std::to_string(values) +
                   " codes of " + std::to_string(bits) + " bits");
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
