#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/quantise/quantise_block.hpp"
#include "sotto/kernels/detail/quantise/ternary.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"

namespace sotto::detail::kernels {

/// How values become codes in steps of their block's Euclidean norm.
struct norm_quantisation {
    std::size_t block = 512;  // values that share a scale: a power of two from 256 to 2^20
    std::uint64_t seed = 0;   // another one for every message
    std::uint64_t first = 0;  // which value of its message x[0] is: a multiple of `block`
};

inline namespace SOTTO_UNIT {

/// The Euclidean norm of a block: sqrt(count) times its deviation about 0.
template <int Lanes>
struct norm_of_block {
    static constexpr int lanes = Lanes;
    static constexpr bool feedback = false;

    spread_of_block<Lanes, false> spread{1.0f};

    SOTTO_INLINE void take(const float* x, const float* none, std::size_t count,
                           std::size_t at) noexcept {
        spread.take(x, none, count, at);
    }
    SOTTO_INLINE void end_chunk() noexcept { spread.end_chunk(); }

    /// Not below the largest magnitude, as rounding could have it where all others are 0, and not
    /// above the largest float.
    SOTTO_INLINE std::uint32_t scale_bits(const float* x, std::size_t count) const noexcept {
        constexpr double most_of_all = (std::numeric_limits<float>::max)();
        const std::uint32_t most = spread.largest.bits();
        if (most >= infinite_scale) return most;
        const double deviation = double{std::bit_cast<float>(spread.scale_bits(x, count))};
        const double norm = deviation * std::sqrt(static_cast<double>(count));
        return (std::max)(
            most, std::bit_cast<std::uint32_t>(static_cast<float>((std::min)(norm, most_of_all))));
    }
};

template <int Bits>
struct quantise_blocks_by_norm {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const blocks_to_encode& all) noexcept {
        block_encoder<Bits, true, false, false>::template blocks<Set>(
            all, norm_of_block<lanes_of(Set)>{});
    }
};

/// Values as codes of 8, 4 or 2 bits in steps of each block's Euclidean norm, up or down at random:
/// QSGD. dequantise<Bits> decodes them.
///   math    L = 2^(Bits-1) - 1;  scale = ||x||_2 over the block, or the largest float if that is
///           less;  code = x / scale * L, rounded at random so that E[decoded] = x;
///           E ||decoded - x||^2 <= min(d / L^2, sqrt(d) / L) ||x||^2 for blocks of d values
///   shape, wire, random  as quantise<Bits>, with stochastic rounding
///   cost    as quantise<Bits>; the squares are added while it looks for the largest, and blocks
///           whose largest is below 2^-31 or from 2^32 on are read once more
///   errors  as quantise<Bits>
///   source  Alistarh et al. 2017, QSGD, arXiv:1610.02132
template <int Bits>
void quantise_by_norm(const norm_quantisation& how, std::span<const float> x,
                      std::span<float> scales, std::span<std::uint8_t> codes) {
    static_assert(is_code_width<Bits>, "quantise_by_norm<Bits>: Bits is 2, 4 or 8");
    require_codes("quantise_by_norm", how.block, how.first, x.size(), Bits, scales.size(),
                  codes.size());
    run_unfused<quantise_blocks_by_norm<Bits>>(
        sotto::kernels::best_instruction_set(),
        blocks_to_encode{x.data(), nullptr, x.size(), how.block, how.seed, how.first, scales.data(),
                         codes.data()});
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
