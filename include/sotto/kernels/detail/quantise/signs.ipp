#pragma once

#include "sotto/kernels/detail/quantise/signs.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/choose_by_sign.hpp"
#include "sotto/kernels/detail/quantise/code_sizes.hpp"
#include "sotto/kernels/detail/quantise/sign_bits.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

// A word of signs is copied as it is, so its lowest byte must come first.
static_assert(std::endian::native == std::endian::little,
              "signs have been written for little endian processors alone");

struct pack_signs_kernel {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const float* x, std::size_t count, std::uint8_t* to) noexcept {
        std::size_t i = 0;
        for (; i + signs_in_word <= count; i += signs_in_word) {
            const std::uint32_t signs = word<Set>(x + i, signs_in_word);
            __builtin_memcpy(to + i / 8, &signs, sizeof signs);
        }
        if (i == count) return;
        const std::uint32_t signs = word<Set>(x + i, count - i);
        __builtin_memcpy(to + i / 8, &signs, bytes_of_signs(count - i));
    }

    template <instruction_set Set>
    SOTTO_INLINE static std::uint32_t word(const float* x, std::size_t count) noexcept {
        constexpr std::size_t lanes = lanes_of(Set);
        std::uint32_t signs = 0;
        for (std::size_t i = 0; i < count; i += lanes) {
            fetch_ahead(x + i);
            floats<lanes> value;
            load_some<lanes>(value, x + i, count - i);
            signs |= sign_bits<Set>::of(value) << i;
        }
        return signs;
    }
};

template <bool Add>
void unpack_signs_checked(const char* function, std::span<const std::uint8_t> signs,
                          float magnitude, std::span<float> x) {
    require_signs(function, x.size(), signs.size());
    run_unfused<choose_by_sign<Add>>(sotto::kernels::best_instruction_set(), magnitude, -magnitude,
                                     signs.data(), x.data(), x.size());
}

SOTTO_DECL void pack_signs(std::span<const float> x, std::span<std::uint8_t> signs) {
    require_signs("pack_signs", x.size(), signs.size());
    run_unfused<pack_signs_kernel>(sotto::kernels::best_instruction_set(), x.data(), x.size(),
                                   signs.data());
}

SOTTO_DECL void unpack_signs(std::span<const std::uint8_t> signs, float magnitude,
                             std::span<float> x) {
    unpack_signs_checked<false>("unpack_signs", signs, magnitude, x);
}

SOTTO_DECL void unpack_signs_add(std::span<const std::uint8_t> signs, float magnitude,
                                 std::span<float> sum) {
    unpack_signs_checked<true>("unpack_signs_add", signs, magnitude, sum);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
