#pragma once

#include "sotto/kernels/detail/nn/orthonormalise.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

struct orthonormalise_vectors {
    /// Part of a vector's length below which the remainder is rounding error: products and sums of
    /// doubles are off by about 2^-53 of the length.
    static constexpr double nothing = 0x1p-30;

    template <instruction_set Set>
    SOTTO_INLINE static std::size_t run(float* vectors, double* wide, std::size_t length,
                                        std::size_t count) noexcept {
        constexpr int lanes = lanes_of(Set) / 2;
        std::size_t dependent = 0;
        for (std::size_t j = 0; j < count; ++j) {
            float* const narrow = vectors + j * length;
            double* const own = wide + j * length;
            for (std::size_t i = 0; i < length; ++i) own[i] = double{narrow[i]};
            const double before = std::sqrt(dot<lanes>(own, own, length));
            for (std::size_t i = 0; i < j; ++i) {
                const double* const other = wide + i * length;
                subtract(dot<lanes>(own, other, length), other, own, length);
            }
            const double after = std::sqrt(dot<lanes>(own, own, length));
            if (after <= before * nothing && is_finite(before)) {
                ++dependent;
                std::fill_n(own, length, 0.0);
                std::fill_n(narrow, length, 0.0f);
                continue;
            }
            for (std::size_t i = 0; i < length; ++i) {
                own[i] = own[i] / after;
                narrow[i] = static_cast<float>(own[i]);
            }
        }
        return dependent;
    }

    SOTTO_INLINE static void subtract(double part, const double* other, double* from,
                                      std::size_t count) noexcept {
        SOTTO_UNFUSED_BODY
        for (std::size_t i = 0; i < count; ++i) from[i] = from[i] - part * other[i];
    }

    /// Uses eight partial sums, place i in sum i % 8: the same order on every instruction set.
    template <int Lanes>
    SOTTO_INLINE static double dot(const double* a, const double* b, std::size_t count) noexcept {
        SOTTO_UNFUSED_BODY
        constexpr std::size_t lanes = Lanes, parts = 8 / lanes;
        doubles<Lanes> partial[parts] = {};
        std::size_t i = 0;
        for (; i + 8 <= count; i += 8)
            for (std::size_t part = 0; part < parts; ++part) {
                doubles<Lanes> x, y;
                load(x, a + i + part * lanes);
                load(y, b + i + part * lanes);
                partial[part] = partial[part] + x * y;
            }
        double sums[8];
        store(partial, sums);
        for (std::size_t lane = 0; i < count; ++i, ++lane) sums[lane] += a[i] * b[i];
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
               ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }
};

SOTTO_DECL std::size_t orthonormalise(std::size_t length, std::span<float> vectors,
                                      std::span<double> wide) {
    if (length == 0 ? !vectors.empty() : vectors.size() % length != 0) [[unlikely]]
        refuse("orthonormalise", given_size("vectors", vectors.size()),
               "a multiple of " + std::to_string(length) + ", the length");
    if (wide.size() < vectors.size()) [[unlikely]]
        refuse("orthonormalise", given_size("wide", wide.size()),
               "at least " + std::to_string(vectors.size()) + ", the size of vectors");
    if (vectors.empty()) return 0;
    return run_unfused<orthonormalise_vectors>(sotto::kernels::best_instruction_set(),
                                               vectors.data(), wide.data(), length,
                                               vectors.size() / length);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
