#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/code_sizes.hpp"
#include "sotto/kernels/detail/quantise/sign_bits.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Writes or adds one of two values, chosen by the sign.
template <bool Add>
struct choose_by_sign {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const float& positive, const float& negative,
                                 const std::uint8_t* signs, float* to, std::size_t count) noexcept {
        std::size_t i = 0;
        for (; i + signs_in_word <= count; i += signs_in_word)
            word<Set>(positive, negative, signs + i / 8, to + i, signs_in_word);
        if (i < count) word<Set>(positive, negative, signs + i / 8, to + i, count - i);
    }

    template <instruction_set Set>
    SOTTO_INLINE static void word(float positive, float negative, const std::uint8_t* from,
                                  float* to, std::size_t count) noexcept {
        constexpr std::size_t lanes = lanes_of(Set);
        std::uint32_t signs = 0;
        __builtin_memcpy(&signs, from, bytes_of_signs(count));
        for (std::size_t i = 0; i < count; i += lanes) {
            fetch_ahead(to + i);
            integers<lanes> is_negative;
            spread_signs<lanes>(signs >> i, is_negative);
            floats<lanes> value;
            choose<lanes>(is_negative, positive, negative, value);
            if constexpr (Add) {
                floats<lanes> sum;
                load_some<lanes>(sum, to + i, count - i);
                value = sum + value;
            }
            store_some<lanes>(value, to + i, count - i);
        }
    }

    template <int Lanes>
    SOTTO_INLINE static void choose(const integers<Lanes>& is_negative, float positive,
                                    float negative, floats<Lanes>& to) noexcept {
        const integers<Lanes> chosen = (is_negative & std::bit_cast<std::int32_t>(negative)) |
                                       (~is_negative & std::bit_cast<std::int32_t>(positive));
        to = reinterpret_cast<floats<Lanes>>(chosen);
    }
};

inline void require_signs(const char* function, std::size_t values, std::size_t bytes) {
    if (const std::size_t expected = bytes_of_signs(values); bytes != expected) [[unlikely]]
        refuse(function, given_size("signs", bytes),
               std::to_string(expected) + ", the bytes of " + std::to_string(values) + " signs");
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
