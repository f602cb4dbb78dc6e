#pragma once

#include "sotto/kernels/detail/quantise/scaled_signs.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/choose_by_sign.hpp"
#include "sotto/kernels/detail/quantise/code_sizes.hpp"
#include "sotto/kernels/detail/quantise/sign_bits.hpp"
#include "sotto/kernels/detail/quantise/signed_sums.hpp"
#include "sotto/kernels/detail/quantise/signs.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

struct pack_signs_and_sum {
    template <instruction_set Set>
    SOTTO_INLINE static double run(const float* x, std::size_t count, std::uint8_t* to) noexcept {
        signed_sums<lanes_of(Set)> sums;
        std::size_t i = 0;
        for (; i + signs_in_word <= count; i += signs_in_word) {
            const std::uint32_t signs = word<Set>(x + i, signs_in_word, sums);
            __builtin_memcpy(to + i / 8, &signs, sizeof signs);
        }
        if (i < count) {
            const std::uint32_t signs = word<Set>(x + i, count - i, sums);
            __builtin_memcpy(to + i / 8, &signs, bytes_of_signs(count - i));
        }
        return sums.total(sums.positive) - sums.total(sums.negative);
    }

    template <instruction_set Set>
    SOTTO_INLINE static std::uint32_t word(const float* x, std::size_t count,
                                           signed_sums<lanes_of(Set)>& sums) noexcept {
        constexpr std::size_t lanes = lanes_of(Set);
        std::uint32_t signs = 0;
        for (std::size_t i = 0; i < count; i += lanes) {
            fetch_ahead(x + i);
            floats<lanes> value;
            load_some<lanes>(value, x + i, count - i);
            signs |= sign_bits<Set>::of(value) << i;
            sums.add(i / lanes % sums.parts, value);
        }
        return signs;
    }
};

SOTTO_DECL float pack_signs_and_mean(std::span<const float> x, std::span<std::uint8_t> signs) {
    require_signs("pack_signs_and_mean", x.size(), signs.size());
    if (x.empty()) return 0.0f;
    const double sum = run_unfused<pack_signs_and_sum>(sotto::kernels::best_instruction_set(),
                                                       x.data(), x.size(), signs.data());
    return static_cast<float>(sum / static_cast<double>(x.size()));
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
