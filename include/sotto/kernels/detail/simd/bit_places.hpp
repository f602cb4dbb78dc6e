#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

// Both ways write first + the index of each set bit, the lowest first, and return the number of set
// bits. They may overwrite later places, up to 64 in total.

/// Writes four at a time, independent of their number, because the end of a loop over set bits is
/// unpredictable.
struct places_by_fours {
    SOTTO_INLINE static std::size_t write(std::uint64_t bits, std::uint32_t first,
                                          std::uint32_t* to) noexcept {
        constexpr std::uint64_t last = std::uint64_t{1} << 63;  // used if no bit is left
        const auto count = static_cast<std::size_t>(std::popcount(bits));
        std::size_t written = 0;
        do {
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i, bits &= bits - 1)
                to[written++] = first + static_cast<std::uint32_t>(std::countr_zero(bits | last));
        } while (written < count);
        return count;
    }
};

/// Compresses all indices as bytes, if the processor can (processor.hpp), and widens sixteen at a
/// time.
template <instruction_set Set>
struct places_by_bytes : places_by_fours {};

#if defined(__x86_64__)
template <>
struct places_by_bytes<instruction_set::avx512> {
    SOTTO_AVX512 static std::size_t write(std::uint64_t bits, std::uint32_t first,
                                          std::uint32_t* to) noexcept {
        using all_bytes = vector_of<std::uint8_t, 64>::type;
        using some_bytes = vector_of<std::uint8_t, 16>::type;
        const auto count = static_cast<std::size_t>(std::popcount(bits));
        all_bytes numbers;
        load(numbers, every_number.data());
        // Inline assembly, because the function is also compiled for processors without this
        // instruction.
        asm("vpcompressb %1, %0%{%2%}%{z%}" : "=v"(numbers) : "v"(numbers), "Yk"(bits));
        some_bytes some = __builtin_shufflevector(numbers, numbers, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                                  10, 11, 12, 13, 14, 15);
        store(__builtin_convertvector(some, words<16>) + first, to);
        if (count > 16) [[unlikely]] {
            std::array<std::uint8_t, 64> rest;
            store(numbers, rest.data());
            for (std::size_t i = 16; i < count; i += 16) {
                load(some, rest.data() + i);
                store(__builtin_convertvector(some, words<16>) + first, to + i);
            }
        }
        return count;
    }

private:
    static constexpr std::array<std::uint8_t, 64> every_number = [] {
        std::array<std::uint8_t, 64> numbers{};
        for (std::size_t i = 0; i < 64; ++i) numbers[i] = static_cast<std::uint8_t>(i);
        return numbers;
    }();
};
#endif

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
