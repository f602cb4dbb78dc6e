#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Stores the first bytes of a register, as many as a Number has, as a vector of bytes. g++ 12
/// joins stores of numbers by shuffles, which cost more than the stores.
template <class Number, class Vector>
SOTTO_INLINE void store_first(const Vector& from, std::uint8_t* to) noexcept {
    typedef Number numbers __attribute__((vector_size(sizeof(Vector))));
    typedef char stored __attribute__((vector_size(sizeof(Number)), aligned(1), may_alias));
    *reinterpret_cast<stored*>(to) = stored(numbers(from)[0]);
}

/// Narrows words to bytes, which compilers otherwise do lane by lane:
///   narrow        the low byte of every word to Lanes bytes
///   narrow_pairs  the low byte of words 0, 2, 4, ... to Lanes / 2 bytes
template <instruction_set Set>
struct byte_lanes {
    static constexpr int lanes = lanes_of(Set);

    static void narrow(const words<lanes>& from, std::uint8_t* to) noexcept {
        for (int lane = 0; lane < lanes; ++lane) to[lane] = static_cast<std::uint8_t>(from[lane]);
    }
    static void narrow_pairs(const words<lanes>& from, std::uint8_t* to) noexcept {
        for (int lane = 0; lane < lanes; lane += 2)
            to[lane / 2] = static_cast<std::uint8_t>(from[lane]);
    }
};

#if defined(__x86_64__)
template <>
struct byte_lanes<instruction_set::sse4_2> {
    using bytes = builtin_vectors<16>::bytes;

    SOTTO_SSE42 static void narrow(const words<4>& from, std::uint8_t* to) noexcept {
        constexpr bytes order = {0, 4, 8, 12};
        store_first<std::int32_t>(__builtin_ia32_pshufb128(bytes(from), order), to);
    }
    SOTTO_SSE42 static void narrow_pairs(const words<4>& from, std::uint8_t* to) noexcept {
        constexpr bytes order = {0, 8};
        store_first<std::int16_t>(__builtin_ia32_pshufb128(bytes(from), order), to);
    }
};

template <>
struct byte_lanes<instruction_set::avx2> {
    using bytes = builtin_vectors<32>::bytes;
    using pairs = builtin_vectors<32>::pairs;
    using shorts = builtin_vectors<16>::shorts;

    // A byte shuffle stays within each half of the register, so the starts of both halves are then
    // joined.
    SOTTO_AVX2 static void narrow(const words<8>& from, std::uint8_t* to) noexcept {
        constexpr bytes order = {0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 8, 12};
        const auto halves = pairs(__builtin_ia32_pshufb256(bytes(from), order));
        const auto lower = integers<4>(__builtin_shufflevector(halves, halves, 0, 1));
        const auto upper = integers<4>(__builtin_ia32_extract128i256(halves, 1));
        store_first<std::int64_t>(__builtin_shufflevector(lower, upper, 0, 4, 1, 5), to);
    }
    SOTTO_AVX2 static void narrow_pairs(const words<8>& from, std::uint8_t* to) noexcept {
        constexpr bytes order = {0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8};
        const auto halves = pairs(__builtin_ia32_pshufb256(bytes(from), order));
        const auto lower = shorts(__builtin_shufflevector(halves, halves, 0, 1));
        const auto upper = shorts(__builtin_ia32_extract128i256(halves, 1));
        store_first<std::int32_t>(__builtin_shufflevector(lower, upper, 0, 8, 1, 9, 2, 10, 3, 11),
                                  to);
    }
};

template <>
struct byte_lanes<instruction_set::avx512> {
    using bytes = builtin_vectors<16>::bytes;

    SOTTO_AVX512 static void narrow(const words<16>& from, std::uint8_t* to) noexcept {
        constexpr std::uint16_t all_lanes = 0xFFFF;
        store(__builtin_ia32_pmovdb512_mask(integers<16>(from), bytes{}, all_lanes), to);
    }
    SOTTO_AVX512 static void narrow_pairs(const words<16>& from, std::uint8_t* to) noexcept {
        constexpr std::uint8_t all_lanes = 0xFF;
        const auto all = builtin_vectors<64>::pairs(from);
        store_first<std::int64_t>(__builtin_ia32_pmovqb512_mask(all, bytes{}, all_lanes), to);
    }
};
#endif

template <int Lanes>
struct signed_bytes {
    typedef signed char type __attribute__((vector_size(Lanes)));
};

/// Widens Lanes signed bytes to words.
template <instruction_set Set>
struct widen_bytes {
    static constexpr int lanes = lanes_of(Set);

    static void run(const std::uint8_t* from, integers<lanes>& to) noexcept {
        typename signed_bytes<lanes>::type bytes;
        load(bytes, from);
        to = __builtin_convertvector(bytes, integers<lanes>);
    }
};

#if defined(__x86_64__) && !defined(__clang__)
// g++ 12 compiles its own conversion lane by lane.
template <>
struct widen_bytes<instruction_set::sse4_2> {
    SOTTO_SSE42 static void run(const std::uint8_t* from, integers<4>& to) noexcept {
        std::int32_t four;
        __builtin_memcpy(&four, from, sizeof four);
        to = __builtin_ia32_pmovsxbd128(builtin_vectors<16>::bytes(integers<4>{four}));
    }
};

template <>
struct widen_bytes<instruction_set::avx2> {
    SOTTO_AVX2 static void run(const std::uint8_t* from, integers<8>& to) noexcept {
        using vectors = builtin_vectors<16>;
        std::int64_t eight;
        __builtin_memcpy(&eight, from, sizeof eight);
        to = __builtin_ia32_pmovsxbd256(vectors::bytes(vectors::pairs{eight}));
    }
};

template <>
struct widen_bytes<instruction_set::avx512> {
    SOTTO_AVX512 static void run(const std::uint8_t* from, integers<16>& to) noexcept {
        constexpr std::uint16_t all_lanes = 0xFFFF;
        builtin_vectors<16>::bytes bytes;
        load(bytes, from);
        to = __builtin_ia32_pmovsxbd512_mask(bytes, integers<16>{}, all_lanes);
    }
};
#endif

template <int Lanes>
struct word_pairs {
    typedef std::uint64_t type __attribute__((vector_size(Lanes * 4)));
};

/// Returns the low nibbles of eight bytes, contiguous. The instruction for this is very slow on
/// some processors with AVX2 that run this code.
SOTTO_INLINE std::uint32_t low_nibbles(std::uint64_t bytes) noexcept {
    bytes = bytes & 0x0f0f0f0f0f0f0f0fu;
    bytes = (bytes | bytes >> 4) & 0x00ff00ff00ff00ffu;
    bytes = (bytes | bytes >> 8) & 0x0000ffff0000ffffu;
    return static_cast<std::uint32_t>(bytes | bytes >> 16);
}

// Codes and signs are cut from words in memory, whose lowest byte must come first.
static_assert(std::endian::native == std::endian::little,
              "quantised messages have been written for little endian processors alone");

/// Values processed, and codes packed, at a time.
inline constexpr std::size_t values_in_group = 32;

/// True if pack_codes takes codes from the upper bits of words instead of the lower ones.
template <int Bits, instruction_set Set>
inline constexpr bool codes_are_upper = Bits == 2 && Set == instruction_set::avx512;

/// The 2-bit codes of two vectors, from the upper bits of words.
template <instruction_set Set>
struct two_bits {};

#if defined(__x86_64__)
template <>
struct two_bits<instruction_set::avx512> {
    /// Returns the lanes with this bit. Uses inline assembly, as operations.hpp: the first
    /// instruction has no builtin common to both compilers, and no mask is stored to memory.
    SOTTO_AVX512 static std::uint64_t lanes_with(const words<16>& codes,
                                                 std::uint32_t bit) noexcept {
        std::uint16_t mask;
        asm("vptestmd %2, %1, %0" : "=Yk"(mask) : "v"(codes), "v"(words<16>{} + bit));
        std::uint32_t found;
        asm("kmovw %1, %0" : "=r"(found) : "Yk"(mask));
        return found;
    }

    SOTTO_AVX512 static std::uint64_t of(const words<16>& first, const words<16>& next) noexcept {
        constexpr std::uint32_t high = 1u << 31, low = 1u << 30;
        const std::uint64_t upper = lanes_with(first, high) | lanes_with(next, high) << 16;
        const std::uint64_t lower = lanes_with(first, low) | lanes_with(next, low) << 16;
        return __builtin_ia32_pdep_di(upper, 0xaaaaaaaaaaaaaaaa) |
               __builtin_ia32_pdep_di(lower, 0x5555555555555555);
    }
};
#endif

/// Writes 32 codes of Bits bits, the first lowest. The words must have no other bits set, except
/// for 8-bit codes and if codes_are_upper.
template <int Bits, instruction_set Set>
SOTTO_INLINE void pack_codes(const words<lanes_of(Set)> (&codes)[values_in_group / lanes_of(Set)],
                             std::uint8_t* to) noexcept {
    constexpr std::size_t lanes = lanes_of(Set), vectors = values_in_group / lanes;
    using pairs = typename word_pairs<lanes>::type;
    if constexpr (Bits == 8) {
        for (std::size_t i = 0; i < vectors; ++i) byte_lanes<Set>::narrow(codes[i], to + i * lanes);
    } else if constexpr (Bits == 4) {
        for (std::size_t i = 0; i < vectors; ++i) {
            const pairs two = reinterpret_cast<pairs>(codes[i]);
            const pairs joined = two | two >> 28;
            byte_lanes<Set>::narrow_pairs(reinterpret_cast<words<lanes>>(joined),
                                          to + i * lanes / 2);
        }
    } else if constexpr (codes_are_upper<Bits, Set>) {
        const std::uint64_t bits = two_bits<Set>::of(codes[0], codes[1]);
        __builtin_memcpy(to, &bits, sizeof bits);
    } else {
        // The low nibble of each byte holds a code of one vector, the high nibble one of the next.
        for (std::size_t i = 0; i < vectors; i += 2) {
            const words<lanes> both = codes[i] | codes[i + 1] << 4;
            const pairs two = reinterpret_cast<pairs>(both);
            const pairs joined = two | two >> 30;
            std::uint8_t bytes[lanes / 2];
            byte_lanes<Set>::narrow_pairs(reinterpret_cast<words<lanes>>(joined), bytes);
            std::uint64_t all = 0;  // only the stored bytes: a wider load would wait
            __builtin_memcpy(&all, bytes, sizeof bytes);
            const std::uint64_t first = low_nibbles(all), second = low_nibbles(all >> 4);
            const std::uint64_t bits = first | second << 2 * lanes;
            __builtin_memcpy(to + i * lanes / 4, &bits, lanes / 2);
        }
    }
}

/// Reads Lanes codes that pack_codes wrote, with their signs.
template <int Bits, instruction_set Set>
SOTTO_INLINE void unpack_codes(const std::uint8_t* from, integers<lanes_of(Set)>& codes) noexcept {
    constexpr int lanes = lanes_of(Set);
    if constexpr (Bits == 8) {
        widen_bytes<Set>::run(from, codes);
    } else {
        // Each lane gets its whole word and shifts out the other codes at both ends.
        words<lanes> bits;
        if constexpr (lanes * Bits == 64) {
            std::uint64_t all;
            __builtin_memcpy(&all, from, sizeof all);
            bits = reinterpret_cast<words<lanes>>(typename word_pairs<lanes>::type{} + all);
            bits =
                __builtin_shufflevector(bits, bits, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
        } else {
            std::uint32_t word = 0;
            __builtin_memcpy(&word, from, lanes * Bits / 8);
            bits = words<lanes>{} + word;
        }
        words<lanes> up;
        for (int lane = 0; lane < lanes; ++lane) {
            const int above = 32 - Bits - lane * Bits % 32;
            up[lane] = lanes == 4 ? 1u << above : static_cast<std::uint32_t>(above);
        }
        if constexpr (lanes == 4)  // without per-lane shifts, a multiplication
            bits = bits * up;
        else
            bits = bits << up;
        codes = reinterpret_cast<integers<lanes>>(bits) >> (32 - Bits);
    }
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
