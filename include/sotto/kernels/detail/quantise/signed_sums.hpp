#pragma once

#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/code_checks.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/quantise/sign_bits.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

/// Sums in double, value i in sum i % 16: the same order on every instruction set.
template <int Lanes>
struct signed_sums {
    static constexpr std::size_t parts = 16 / Lanes, halves = 2;
    doubles<Lanes / 2> positive[parts][halves] = {}, negative[parts][halves] = {};

    SOTTO_INLINE void add(std::size_t part, const floats<Lanes>& value) noexcept {
        const integers<Lanes> bits = reinterpret_cast<integers<Lanes>>(value);
        const integers<Lanes> below = bits & (bits >> 31), above = bits & ~(bits >> 31);
        add_to(positive[part], reinterpret_cast<floats<Lanes>>(above));
        add_to(negative[part], reinterpret_cast<floats<Lanes>>(below));
    }

    SOTTO_INLINE static void add_to(doubles<Lanes / 2> (&sums)[halves],
                                    const floats<Lanes>& value) noexcept {
        floats<Lanes / 2> half[halves];
        __builtin_memcpy(half, &value, sizeof half);
        for (std::size_t i = 0; i < halves; ++i) {
            doubles<Lanes / 2> wide;
            widen(half[i], wide);
            sums[i] = sums[i] + wide;
        }
    }

    SOTTO_INLINE static double total(const doubles<Lanes / 2> (&sums)[parts][halves]) noexcept {
        double all[16];
        __builtin_memcpy(all, sums, sizeof all);
        for (int width = 8; width > 0; width /= 2)
            for (int i = 0; i < width; ++i) all[i] += all[i + width];
        return all[0];
    }
};

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
