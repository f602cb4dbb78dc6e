#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

struct single_values {
    const float* x;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(x + i); }

    template <class V, class Wide>
    SOTTO_INLINE void at(std::size_t i, Wide& to) const noexcept {
        V value;
        load(value, x + i);
        widen(value, to);
    }
};

struct scaled_values {
    float factor;
    float* x;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(x + i); }

    template <class V, class Wide>
    SOTTO_INLINE void at(std::size_t i, Wide& to) const noexcept {
        V value;
        load(value, x + i);
        value = value * factor;
        store(value, x + i);
        widen(value, to);
    }
};

struct differences {
    const float *a, *b;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(a + i, b + i); }

    template <class V, class Wide>
    SOTTO_INLINE void at(std::size_t i, Wide& to) const noexcept {
        V first, second;
        load(first, a + i);
        load(second, b + i);
        Wide subtracted;
        widen(first, to);
        widen(second, subtracted);
        to = to - subtracted;
    }
};

/// Returns the sum of squares of `values.at<V>(i, to)`, the doubles from place i on. Uses eight
/// partial sums, place i in sum i % 8: the same order on every instruction set.
struct sum_squares {
    template <instruction_set Set, class Values>
    SOTTO_INLINE static double run(const Values& given, std::size_t count) noexcept {
        SOTTO_UNFUSED_BODY
        constexpr std::size_t lanes = lanes_of(Set) / 2;
        const Values values = given;  // a copy that no store can change
        doubles<lanes> partial[8 / lanes] = {};
        std::size_t i = 0;
        for (; i + 16 <= count; i += 16) {
            values.ahead(i);
            eight<lanes>(values, i, partial);
            eight<lanes>(values, i + 8, partial);
        }
        if (i + 8 <= count) {
            eight<lanes>(values, i, partial);
            i += 8;
        }
        double sums[8];
        store(partial, sums);
        const std::size_t rest = count % 8;
        for (std::size_t lane = 0; lane < rest; ++lane) {
            double x;
            values.template at<float>(i + lane, x);
            sums[lane] += x * x;
        }
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
               ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }

    template <std::size_t Lanes, class Values>
    SOTTO_INLINE static void eight(const Values& values, std::size_t i,
                                   doubles<Lanes> (&partial)[8 / Lanes]) noexcept {
        SOTTO_UNFUSED_BODY
        for (std::size_t part = 0; part < 8 / Lanes; ++part) {
            doubles<Lanes> x;
            values.template at<floats<Lanes>>(i + part * Lanes, x);
            partial[part] = partial[part] + x * x;
        }
    }
};

/// Returns the largest bits of floats without their signs. As integers, bits have the order of
/// magnitudes, infinity above all finite values and every NaN above infinity.
struct max_bits {
    template <instruction_set Set>
    SOTTO_INLINE static std::uint32_t run(const std::byte* x, std::size_t count) noexcept {
        constexpr std::size_t lanes = lanes_of(Set), line = 16, size = sizeof(float);
        using vector = words<lanes_of(Set)>;
        vector most = {};
        std::size_t i = 0;
        for (; i + line <= count; i += line) {
            fetch_ahead(x + size * i);
            for (std::size_t lane = 0; lane < line; lane += lanes)
                larger(x + size * (i + lane), most);
        }
        if constexpr (lanes < line)
            for (; i + lanes <= count; i += lanes) larger(x + size * i, most);
        std::uint32_t largest = 0;
        for (std::size_t lane = 0; lane < lanes; ++lane) largest = (std::max)(largest, most[lane]);
        const std::size_t rest = count % lanes;
        for (std::size_t lane = 0; lane < rest; ++lane) {
            std::uint32_t bits;
            load(bits, x + size * (i + lane));
            largest = (std::max)(largest, bits & 0x7FFFFFFFu);
        }
        return largest;
    }

    template <class Vector>
    SOTTO_INLINE static void larger(const std::byte* x, Vector& most) noexcept {
        Vector bits;
        load(bits, x);
        bits = bits & 0x7FFFFFFFu;
        most = bits > most ? bits : most;
    }
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
