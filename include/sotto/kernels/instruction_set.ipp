#pragma once

#include "sotto/kernels/instruction_set.hpp"

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "sotto/core/config.hpp"

#if defined(SOTTO_DISPATCHES)
#include <cpuid.h>
#endif

namespace sotto::detail {
/// Each translation unit reads SOTTO_ISA itself; the first that finds it wrong reports it for all.
inline std::atomic_flag has_complained_of_sotto_isa;
}  // namespace sotto::detail

namespace sotto::detail::kernels::inline SOTTO_UNIT {

#if defined(SOTTO_DISPATCHES)
/// True for AVX2 with the features that all such processors have: FMA, F16C, BMI.
inline bool has_avx2() noexcept {
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool has_f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
    return has_f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt");
}

inline bool has_avx512() noexcept {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

inline instruction_set processor_instruction_set() noexcept {
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt"))
        return instruction_set::baseline;
    if (!has_avx2()) return instruction_set::sse4_2;
    return has_avx512() ? instruction_set::avx512 : instruction_set::avx2;
}
#else
inline instruction_set processor_instruction_set() noexcept {
    return instruction_set::baseline;
}
#endif

/// Returns the set named by `asked`, or `found`, the widest available, if it names none, a wider or
/// an unknown one. Reports the last two in one line, unless one was reported before.
///   shape   asked: null or empty if unset
inline sotto::detail::kernels::instruction_set obey_sotto_isa(
    const char* asked, sotto::detail::kernels::instruction_set found, std::FILE* complaints,
    std::atomic_flag& has_complained) noexcept {
    if (asked == nullptr || *asked == '\0') return found;
    bool known = false;
    for (const auto set : {sotto::detail::kernels::instruction_set::baseline,
                           sotto::detail::kernels::instruction_set::sse4_2,
                           sotto::detail::kernels::instruction_set::avx2,
                           sotto::detail::kernels::instruction_set::avx512}) {
        if (name_of(set) != asked) continue;
        if (set <= found) return set;
        known = true;
    }
    if (has_complained.test_and_set()) return found;
    // Sets available up to each one: on AArch64 and with SOTTO_BASELINE_ONLY only the first.
    constexpr const char* expected[] = {", expected baseline", ", expected baseline or sse4_2",
                                        ", expected baseline, sse4_2 or avx2",
                                        ", expected baseline, sse4_2, avx2 or avx512"};
#if defined(SOTTO_DISPATCHES)
    constexpr const char* lacking = ", which this processor does not have";
#else
    constexpr const char* lacking = ", which this build does not have";
#endif
    const char* const wrong = known ? lacking : expected[static_cast<std::size_t>(found)];
    // Not `printable`: this code is private to the translation unit and must not use shared code.
    char shown[32] = {};
    for (std::size_t i = 0; i + 1 < sizeof shown && asked[i] != '\0'; ++i)
        shown[i] = asked[i] >= ' ' && asked[i] <= '~' ? asked[i] : '?';
    std::fprintf(complaints, "sotto: SOTTO_ISA is '%s'%s; using %s\n", shown, wrong,
                 name_of(found).data());
    return found;
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

SOTTO_DECL detail::kernels::instruction_set best_instruction_set() noexcept {
    static const detail::kernels::instruction_set best = [] {
        return detail::kernels::obey_sotto_isa(std::getenv("SOTTO_ISA"),
                                               detail::kernels::processor_instruction_set(), stderr,
                                               sotto::detail::has_complained_of_sotto_isa);
    }();
    return best;
}

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels
