#pragma once

#include "sotto/kernels/detail/quantise/quantise.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/code_checks.hpp"
#include "sotto/kernels/detail/quantise/quantise_block.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

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

template <int Bits, int Checked>
void quantise(const quantisation& how, std::span<const float> x, std::span<float> scales,
              std::span<std::uint8_t> codes) {
    quantise_checked<Bits, false>("quantise", how, x, {}, scales, codes);
}

template <int Bits, int Checked>
void quantise_with_feedback(const quantisation& how, std::span<const float> x,
                            std::span<float> residual, std::span<float> scales,
                            std::span<std::uint8_t> codes) {
    require_size_of({"x", x.size()}, {{"residual", residual.size()}}, "quantise_with_feedback");
    quantise_checked<Bits, true>("quantise_with_feedback", how, x, residual, scales, codes);
}

template <int Bits, int Checked>
void dequantise(std::size_t block, std::span<const float> scales,
                std::span<const std::uint8_t> codes, std::span<float> x) {
    dequantise_checked<Bits, false>("dequantise", block, scales, codes, x);
}

template <int Bits, int Checked>
void dequantise_add(std::size_t block, std::span<const float> scales,
                    std::span<const std::uint8_t> codes, std::span<float> sum) {
    dequantise_checked<Bits, true>("dequantise_add", block, scales, codes, sum);
}

#ifdef SOTTO_SEPARATE_COMPILATION
template void quantise<2>(const quantisation&, std::span<const float>, std::span<float>,
                          std::span<std::uint8_t>);
template void quantise<4>(const quantisation&, std::span<const float>, std::span<float>,
                          std::span<std::uint8_t>);
template void quantise<8>(const quantisation&, std::span<const float>, std::span<float>,
                          std::span<std::uint8_t>);
template void quantise_with_feedback<2>(const quantisation&, std::span<const float>,
                                        std::span<float>, std::span<float>,
                                        std::span<std::uint8_t>);
template void quantise_with_feedback<4>(const quantisation&, std::span<const float>,
                                        std::span<float>, std::span<float>,
                                        std::span<std::uint8_t>);
template void quantise_with_feedback<8>(const quantisation&, std::span<const float>,
                                        std::span<float>, std::span<float>,
                                        std::span<std::uint8_t>);
template void dequantise<2>(std::size_t, std::span<const float>, std::span<const std::uint8_t>,
                            std::span<float>);
template void dequantise<4>(std::size_t, std::span<const float>, std::span<const std::uint8_t>,
                            std::span<float>);
template void dequantise<8>(std::size_t, std::span<const float>, std::span<const std::uint8_t>,
                            std::span<float>);
template void dequantise_add<2>(std::size_t, std::span<const float>, std::span<const std::uint8_t>,
                                std::span<float>);
template void dequantise_add<4>(std::size_t, std::span<const float>, std::span<const std::uint8_t>,
                                std::span<float>);
template void dequantise_add<8>(std::size_t, std::span<const float>, std::span<const std::uint8_t>,
                                std::span<float>);
#endif

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
