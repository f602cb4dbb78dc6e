#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

// Vectors in the compilers' own notation. A library's vectors are fixed to the translation unit's
// instruction set and cannot be used in a function compiled for another one. They are passed by
// reference, because the calling convention for values depends on the instruction set.

/// Floats in one register.
constexpr int lanes_of(instruction_set set) noexcept {
    return set == instruction_set::avx512 ? 16 : set == instruction_set::avx2 ? 8 : 4;
}

/// Floats in the widest register.
constexpr int lanes_max = 16;

template <class Value, int Lanes>
struct vector_of {
    typedef Value type __attribute__((vector_size(Lanes * sizeof(Value))));
};

/// Lanes floats, in one or more registers.
template <int Lanes>
using floats = typename vector_of<float, Lanes>::type;

/// Lanes words: the bits of floats, or places.
template <int Lanes>
using words = typename vector_of<std::uint32_t, Lanes>::type;

/// Lanes signed words, also the result of a comparison: all bits set where it holds.
template <int Lanes>
using integers = typename vector_of<std::int32_t, Lanes>::type;

/// Lanes doubles.
template <int Lanes>
using doubles = typename vector_of<double, Lanes>::type;

/// Registers in the types of the compilers' builtins.
template <int Bytes>
struct builtin_vectors {
    typedef char bytes __attribute__((vector_size(Bytes)));
    typedef short shorts __attribute__((vector_size(Bytes)));
    typedef long long pairs __attribute__((vector_size(Bytes)));
};

#if defined(__clang__)
using builtin_mask = std::uint16_t;
#else
using builtin_mask = std::int16_t;
#endif
/// A mask of sixteen lanes, for builtins whose mask differs in signedness between compilers.
constexpr auto all_of_16_lanes = static_cast<builtin_mask>(0xFFFF);

template <class Vector>
SOTTO_INLINE void load(Vector& to, const void* from) noexcept {
    __builtin_memcpy(&to, from, sizeof to);
}

template <class Vector>
SOTTO_INLINE void store(const Vector& from, void* to) noexcept {
    __builtin_memcpy(to, &from, sizeof from);
}

/// Stores past the caches, for memory that is not read again soon: its lines are not fetched before
/// the write. `to` must be aligned to the vector's size. Other threads see the values after
/// `end_streaming`.
template <class Vector>
SOTTO_INLINE void stream(const Vector& from, void* to) noexcept {
#if defined(__clang__)
    __builtin_nontemporal_store(from, static_cast<Vector*>(to));
#else
    store(from, to);
#endif
}
#if defined(__x86_64__) && !defined(__clang__)
inline void stream(const floats<4>& from, void* to) noexcept {
    __builtin_ia32_movntps(static_cast<float*>(to), from);
}
SOTTO_AVX2 inline void stream(const floats<8>& from, void* to) noexcept {
    __builtin_ia32_movntps256(static_cast<float*>(to), from);
}
SOTTO_AVX512 inline void stream(const floats<16>& from, void* to) noexcept {
    __builtin_ia32_movntps512(static_cast<float*>(to), from);
}
#endif

inline void end_streaming() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

// Only the first `count` lanes are in memory; the others are read as 0.
template <int Lanes>
SOTTO_INLINE void load_some(floats<Lanes>& to, const float* from, std::size_t count) noexcept {
    if (count >= Lanes) return load(to, from);
    to = floats<Lanes>{};
    __builtin_memcpy(&to, from, count * sizeof(float));
}
template <int Lanes>
SOTTO_INLINE void store_some(const floats<Lanes>& from, float* to, std::size_t count) noexcept {
    if (count >= Lanes) return store(from, to);
    __builtin_memcpy(to, &from, count * sizeof(float));
}

// Converts floats to doubles, exactly.
inline void widen(const float& from, double& to) noexcept {
    to = double{from};
}
template <class Floats, class Doubles>
SOTTO_INLINE void widen(const Floats& from, Doubles& to) noexcept {
    to = __builtin_convertvector(from, Doubles);
}
#if defined(__x86_64__) && !defined(__clang__)
// g++ 12 compiles its own conversion to two halves and a join.
SOTTO_AVX2 inline void widen(const floats<4>& from, doubles<4>& to) noexcept {
    to = __builtin_ia32_cvtps2pd256(from);
}
SOTTO_AVX512 inline void widen(const floats<8>& from, doubles<8>& to) noexcept {
    constexpr int all_lanes = -1, rounding_as_set = 4;
    to = __builtin_ia32_cvtps2pd512_mask(from, doubles<8>{}, all_lanes, rounding_as_set);
}
#endif

/// Sums the lanes, by halves.
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

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
