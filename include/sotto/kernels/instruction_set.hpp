#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sotto/core/config.hpp"

namespace sotto::detail::kernels {

/// The instruction sets that vector kernels are compiled for. `baseline` is at least the set of
/// every processor of the architecture: SSE2 on x86-64, NEON on AArch64.
///   baseline  the translation unit's own set, at least
///   sse4_2    with popcnt
///   avx2      with fma, f16c, bmi, bmi2
///   avx512    f, bw, dq and vl
enum class instruction_set : std::uint8_t { baseline, sse4_2, avx2, avx512 };

inline namespace SOTTO_UNIT {

/// Returns the name as in SOTTO_ISA.
constexpr std::string_view name_of(instruction_set set) noexcept {
    constexpr std::string_view names[] = {"baseline", "sse4_2", "avx2", "avx512"};
    return names[static_cast<std::size_t>(set)];
}

}  // namespace SOTTO_UNIT
}  // namespace sotto::detail::kernels

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

/// Returns the widest set that this processor and its operating system support; name_of(it) is its
/// name. The environment variable SOTTO_ISA (baseline, sse4_2, avx2, avx512) can only lower it. It
/// is read once in each translation unit. An unknown value, or a set that the processor lacks, is
/// ignored and reported in one line on stderr, once in a program.
detail::kernels::instruction_set best_instruction_set() noexcept;

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/instruction_set.ipp"
#endif
