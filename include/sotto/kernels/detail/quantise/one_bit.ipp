#pragma once

#include "sotto/kernels/detail/quantise/one_bit.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/choose_by_sign.hpp"
#include "sotto/kernels/detail/quantise/code_checks.hpp"
#include "sotto/kernels/detail/quantise/code_sizes.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/quantise/sign_bits.hpp"
#include "sotto/kernels/detail/quantise/signed_sums.hpp"
#include "sotto/kernels/detail/quantise/signs.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

struct one_bit_blocks {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const float* x, float* residual, std::size_t n, std::size_t block,
                                 sign_means* means, std::uint8_t* signs) noexcept {
        for (std::size_t start = 0; start < n; start += block, ++means) {
            const std::size_t count = (std::min)(block, n - start);
            sign_block<Set>(x + start, residual + start, count, *means, signs + start / 8);
            leave_rest<Set>(*means, x + start, residual + start, count, block);
        }
    }

    /// Computes residual += x, its signs and their means.
    template <instruction_set Set>
    SOTTO_INLINE static void sign_block(const float* x, float* residual, std::size_t count,
                                        sign_means& means, std::uint8_t* signs) noexcept {
        signed_sums<lanes_of(Set)> sums;
        std::size_t negative = 0, i = 0;
        for (; i + signs_in_word <= count; i += signs_in_word) {
            const std::uint32_t word = take_word<Set>(x + i, residual + i, signs_in_word, sums);
            negative += static_cast<std::size_t>(std::popcount(word));
            __builtin_memcpy(signs + i / 8, &word, sizeof word);
        }
        if (i < count) {
            const std::uint32_t word = take_word<Set>(x + i, residual + i, count - i, sums);
            negative += static_cast<std::size_t>(std::popcount(word));
            __builtin_memcpy(signs + i / 8, &word, bytes_of_signs(count - i));
        }
        means = {mean(sums.total(sums.positive), count - negative),
                 mean(sums.total(sums.negative), negative)};
    }

    template <instruction_set Set>
    SOTTO_INLINE static std::uint32_t take_word(const float* x, float* residual, std::size_t count,
                                                signed_sums<lanes_of(Set)>& sums) noexcept {
        constexpr std::size_t lanes = lanes_of(Set);
        std::uint32_t signs = 0;
        for (std::size_t i = 0; i < count; i += lanes) {
            floats<lanes> value;
            load_values<true, lanes>(x + i, residual + i, count - i, value);
            store_some<lanes>(value, residual + i, count - i);
            signs |= sign_bits<Set>::of(value) << i;
            sums.add(i / lanes % sums.parts, value);
        }
        return signs;
    }

    static float mean(double sum, std::size_t count) noexcept {
        return count == 0 ? 0.0f : static_cast<float>(sum / static_cast<double>(count));
    }

    /// Computes residual -= the mean of its sign and prefetches the next block.
    template <instruction_set Set>
    SOTTO_INLINE static void leave_rest(const sign_means& means, const float* x, float* residual,
                                        std::size_t count, std::size_t next) noexcept {
        constexpr std::size_t lanes = lanes_of(Set);
        const float positive = means.positive, negative = means.negative;
        std::size_t i = 0;
        for (; i + lanes <= count; i += lanes) {
            fetch_values<0, true>(x + i + next, residual + i + next);
            leave<lanes>(positive, negative, residual + i, lanes);
        }
        if (i < count) leave<lanes>(positive, negative, residual + i, count - i);
    }

    template <int Lanes>
    SOTTO_INLINE static void leave(float positive, float negative, float* residual,
                                   std::size_t count) noexcept {
        floats<Lanes> value, mean;
        load_some<Lanes>(value, residual, count);
        const integers<Lanes> is_negative = reinterpret_cast<integers<Lanes>>(value) >> 31;
        choose_by_sign<false>::choose<Lanes>(is_negative, positive, negative, mean);
        value = value - mean;
        store_some<Lanes>(value, residual, count);
    }
};

template <bool Add>
struct means_of_blocks {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const sign_means* means, const std::uint8_t* signs, float* to,
                                 std::size_t n, std::size_t block) noexcept {
        for (std::size_t start = 0; start < n; start += block, ++means)
            choose_by_sign<Add>::template run<Set>(means->positive, means->negative,
                                                   signs + start / 8, to + start,
                                                   (std::min)(block, n - start));
    }
};

inline void require_one_bit(const char* function, std::size_t block, std::size_t values,
                            std::size_t means, std::size_t bytes) {
    require_blocks(function, block, values, {"means", means});
    require_signs(function, values, bytes);
}

SOTTO_DECL void quantise_one_bit(std::size_t block, std::span<const float> x,
                                 std::span<float> residual, std::span<sign_means> means,
                                 std::span<std::uint8_t> signs) {
    require_one_bit("quantise_one_bit", block, x.size(), means.size(), signs.size());
    require_size_of({"x", x.size()}, {{"residual", residual.size()}}, "quantise_one_bit");
    run_unfused<one_bit_blocks>(sotto::kernels::best_instruction_set(), x.data(), residual.data(),
                                x.size(), block, means.data(), signs.data());
}

SOTTO_DECL void dequantise_one_bit(std::size_t block, std::span<const sign_means> means,
                                   std::span<const std::uint8_t> signs, std::span<float> x) {
    require_one_bit("dequantise_one_bit", block, x.size(), means.size(), signs.size());
    run_unfused<means_of_blocks<false>>(sotto::kernels::best_instruction_set(), means.data(),
                                        signs.data(), x.data(), x.size(), block);
}

SOTTO_DECL void dequantise_one_bit_add(std::size_t block, std::span<const sign_means> means,
                                       std::span<const std::uint8_t> signs, std::span<float> sum) {
    require_one_bit("dequantise_one_bit_add", block, sum.size(), means.size(), signs.size());
    run_unfused<means_of_blocks<true>>(sotto::kernels::best_instruction_set(), means.data(),
                                       signs.data(), sum.data(), sum.size(), block);
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
