#pragma once

#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::kernels::detail {

// Vectors in the compilers' own notation: a library's are fixed to the unit's instruction set,
// and could not be used inside a function that is compiled for another. They are passed by
// reference, since the convention for values depends on the instruction set.

/// Floats in one register.
constexpr int lanes_of(instruction_set set) noexcept {
    return set == instruction_set::avx512 ? 16 : set == instruction_set::avx2 ? 8 : 4;
}

template <int Lanes>
struct vector_of {
    typedef float type __attribute__((vector_size(Lanes * sizeof(float))));
};

/// Lanes floats, in one register or spread over several.
template <int Lanes>
using floats = typename vector_of<Lanes>::type;

template <class Vector>
SOTTO_INLINE void load(Vector& to, const float* from) noexcept {
    __builtin_memcpy(&to, from, sizeof to);
}

template <class Vector>
SOTTO_INLINE void store(const Vector& from, float* to) noexcept {
    __builtin_memcpy(to, &from, sizeof from);
}

/// The sum over lanes, by halves.
SOTTO_INLINE float sum_of(const floats<4>& v) noexcept {
    return (v[0] + v[2]) + (v[1] + v[3]);
}
SOTTO_INLINE float sum_of(const floats<8>& v) noexcept {
    const floats<4> half =
        __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
    return sum_of(half);
}
SOTTO_INLINE float sum_of(const floats<16>& v) noexcept {
    const floats<8> half = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                           __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    return sum_of(half);
}

}  // namespace sotto::kernels::detail
