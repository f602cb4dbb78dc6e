#pragma once

#include "sotto/kernels/detail/quantise/quantise_by_norm.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/code_checks.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/quantise/quantise_block.hpp"
#include "sotto/kernels/detail/quantise/spread_of_block.hpp"
#include "sotto/kernels/detail/quantise/ternary.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

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

    /// Not below the largest magnitude, which rounding could cause if all other values are 0, and
    /// not above the largest float.
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

template <int Bits, int Checked>
void quantise_by_norm(const norm_quantisation& how, std::span<const float> x,
                      std::span<float> scales, std::span<std::uint8_t> codes) {
    require_codes("quantise_by_norm", how.block, how.first, x.size(), Bits, scales.size(),
                  codes.size());
    run_unfused<quantise_blocks_by_norm<Bits>>(
        sotto::kernels::best_instruction_set(),
        blocks_to_encode{x.data(), nullptr, x.size(), how.block, how.seed, how.first, scales.data(),
                         codes.data()});
}

#ifdef SOTTO_SEPARATE_COMPILATION
template void quantise_by_norm<2>(const norm_quantisation&, std::span<const float>,
                                  std::span<float>, std::span<std::uint8_t>);
template void quantise_by_norm<4>(const norm_quantisation&, std::span<const float>,
                                  std::span<float>, std::span<std::uint8_t>);
template void quantise_by_norm<8>(const norm_quantisation&, std::span<const float>,
                                  std::span<float>, std::span<std::uint8_t>);
#endif

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
