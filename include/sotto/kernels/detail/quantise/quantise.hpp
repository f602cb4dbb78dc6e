#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/quantise/quantise_block.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels {

/// How a value between two codes becomes one of them.
enum class rounding : std::uint8_t {
    nearest,     // ties to the even code
    stochastic,  // up or down at random, so that the mean of many is the value itself
};

/// How values become codes.
struct quantisation {
    std::size_t block = 1024;  // values that share a scale: a power of two from 256 to 2^20
    rounding round = rounding::nearest;  // to which code a value goes
    std::uint64_t seed = 0;              // of stochastic rounding: another one for every message
    std::uint64_t first = 0;  // which value of its message x[0] is: a multiple of `block`
};

inline namespace SOTTO_UNIT {

/// Scales of this many values.
constexpr std::size_t blocks_of(std::size_t values, std::size_t block) noexcept {
    return values / block + (values % block != 0 ? 1 : 0);
}

/// Whether there are codes of so many bits.
template <int Bits>
inline constexpr bool is_code_width = Bits == 2 || Bits == 4 || Bits == 8;

/// Bytes of this many codes of `bits` bits each, the last one filled up with zeros.
constexpr std::size_t bytes_of_codes(std::size_t values, std::size_t bits) noexcept {
    return values / 8 * bits + (values % 8 * bits + 7) / 8;
}

constexpr bool is_block_length(std::size_t block) noexcept {
    return std::has_single_bit(block) && block >= 256 && block <= std::size_t{1} << 20;
}

template <int Bits, bool Add>
struct dequantise_blocks {
    template <instruction_set Set>
    SOTTO_INLINE static void decode(const std::uint8_t* from, float scale, std::size_t count,
                                    float* to) noexcept {
        SOTTO_UNFUSED_BODY
        constexpr std::size_t lanes = lanes_of(Set);
        integers<lanes> codes;
        if (count >= lanes) {
            unpack_codes<Bits, Set>(from, codes);
        } else {
            std::uint8_t bytes[(lanes * Bits + 7) / 8] = {};
            std::memcpy(bytes, from, (count * Bits + 7) / 8);
            unpack_codes<Bits, Set>(bytes, codes);
        }
        floats<lanes> value;
        decode_lanes<Bits, lanes>(codes, scale, value);
        if constexpr (Add) {
            floats<lanes> sum;
            load_some<lanes>(sum, to, count);
            value = sum + value;
        }
        store_some<lanes>(value, to, count);
    }

    template <instruction_set Set>
    SOTTO_INLINE static void run(const float* scales, const std::uint8_t* codes, float* to,
                                 std::size_t count, std::size_t block) noexcept {
        constexpr std::size_t lanes = lanes_of(Set);
        for (std::size_t start = 0; start < count; start += block, ++scales) {
            const std::size_t end = (std::min)(start + block, count);
            const float scale = *scales;
            std::size_t i = start;
            for (; i + lanes <= end; i += lanes) {
                fetch_ahead(to + i);
                decode<Set>(codes + i * Bits / 8, scale, lanes, to + i);
            }
            if (i < end) decode<Set>(codes + i * Bits / 8, scale, end - i, to + i);
        }
    }
};

/// A block that there is, and an array that has something of each block.
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

template <int Bits, bool Feedback>
void quantise_checked(const char* function, const quantisation& how, std::span<const float> x,
                      std::span<float> residual, std::span<float> scales,
                      std::span<std::uint8_t> codes) {
    require_codes(function, how.block, how.first, x.size(), Bits, scales.size(), codes.size());
    const blocks_to_encode all{x.data(), residual.data(), x.size(),      how.block,
                               how.seed, how.first,       scales.data(), codes.data()};
    if (how.round == rounding::nearest)
        run_unfused<quantise_blocks<Bits, false, Feedback>>(sotto::kernels::best_instruction_set(),
                                                            all);
    else
        run_unfused<quantise_blocks<Bits, true, Feedback>>(sotto::kernels::best_instruction_set(),
                                                           all);
}

template <int Bits, bool Add>
void dequantise_checked(const char* function, std::size_t block, std::span<const float> scales,
                        std::span<const std::uint8_t> codes, std::span<float> x) {
    require_codes(function, block, 0, x.size(), Bits, scales.size(), codes.size());
    run_unfused<dequantise_blocks<Bits, Add>>(sotto::kernels::best_instruction_set(), scales.data(),
                                              codes.data(), x.data(), x.size(), block);
}

/// Values as codes of 8, 4 or 2 bits in uniform steps of each block's own scale.
///   math    L = 2^(Bits-1) - 1;  scale = max |x| over the block;  code = x / scale * L, rounded;
///           decoded = code / L * scale: off by at most half a step scale / L, or with stochastic
///           rounding a whole one, and then E[decoded] = x.  A scale below 2^-96 becomes 0
///   shape   x: n floats;  scales: blocks_of(n, block);  codes: bytes_of_codes(n, Bits);  no two
///           spans share memory
///   wire    codes of two's complement without the lowest one, the first in the lowest bits of the
///           first byte; the last byte filled up with zeros
///   random  counters first + i and the seed decide: the same bits on every instruction set, and
///           however a message is cut into calls
///   cost    reads 4 bytes a value once and writes Bits / 8; blocks that outgrow the processor's
///           second cache are read twice
///   errors  invalid_option: another number of scales or bytes, a block or first that can't be.
///           Whether x is finite is the caller's to check: a block that isn't has an infinite or
///           NaN scale and codes 0, which decode to NaN
///   source  Alistarh et al. 2017, QSGD, arXiv:1610.02132 (with the maximum as norm)
template <int Bits>
void quantise(const quantisation& how, std::span<const float> x, std::span<float> scales,
              std::span<std::uint8_t> codes) {
    static_assert(is_code_width<Bits>, "quantise<Bits>: Bits is 2, 4 or 8");
    quantise_checked<Bits, false>("quantise", how, x, {}, scales, codes);
}

/// The same for x + residual; what is not sent stays behind for the next time.
///   math    v = x + residual;  codes of v;  residual = v - decoded, with what dequantise gives
///   shape   as quantise;  residual: n floats
///   cost    reads 8 bytes a value and writes 4 + Bits / 8
///   errors  as quantise; where v is not finite, the block's residual becomes NaN
///   source  Karimireddy et al. 2019, Error feedback fixes signSGD, arXiv:1901.09847
template <int Bits>
void quantise_with_feedback(const quantisation& how, std::span<const float> x,
                            std::span<float> residual, std::span<float> scales,
                            std::span<std::uint8_t> codes) {
    static_assert(is_code_width<Bits>, "quantise_with_feedback<Bits>: Bits is 2, 4 or 8");
    require_size_of({"x", x.size()}, {{"residual", residual.size()}}, "quantise_with_feedback");
    quantise_checked<Bits, true>("quantise_with_feedback", how, x, residual, scales, codes);
}

/// x = code / L * scale. Finite for all that quantise writes of finite values; the one code that it
/// never writes, -L - 1, is one step further.
///   shape   as quantise
///   cost    reads Bits / 8 bytes a value and writes 4
///   errors  invalid_option: another number of scales or bytes, or a block that can't be
template <int Bits>
void dequantise(std::size_t block, std::span<const float> scales,
                std::span<const std::uint8_t> codes, std::span<float> x) {
    static_assert(is_code_width<Bits>, "dequantise<Bits>: Bits is 2, 4 or 8");
    dequantise_checked<Bits, false>("dequantise", block, scales, codes, x);
}

/// sum += code / L * scale.
///   shape, errors  as dequantise
template <int Bits>
void dequantise_add(std::size_t block, std::span<const float> scales,
                    std::span<const std::uint8_t> codes, std::span<float> sum) {
    static_assert(is_code_width<Bits>, "dequantise_add<Bits>: Bits is 2, 4 or 8");
    dequantise_checked<Bits, true>("dequantise_add", block, scales, codes, sum);
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
