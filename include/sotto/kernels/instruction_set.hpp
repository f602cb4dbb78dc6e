#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "sotto/core/config.hpp"

#if defined(SOTTO_DISPATCHES)
#include <cpuid.h>
#endif

namespace sotto::detail {
/// Units choose for themselves; the first that finds SOTTO_ISA wrong says so for all.
inline std::atomic_flag has_complained_of_sotto_isa;
}  // namespace sotto::detail

namespace sotto::detail::kernels {

/// What the vector kernels are compiled for, besides the unit's own instruction set. `baseline` is
/// what every processor of the architecture has: SSE2 on x86-64, NEON on AArch64.
///   baseline  what the unit is compiled for, at least
///   sse4_2    with popcnt
///   avx2      with fma, f16c, bmi, bmi2
///   avx512    f, bw, dq and vl
enum class instruction_set : std::uint8_t { baseline, sse4_2, avx2, avx512 };

inline namespace SOTTO_UNIT {

/// As SOTTO_ISA spells it.
constexpr std::string_view name_of(instruction_set set) noexcept {
    constexpr std::string_view names[] = {"baseline", "sse4_2", "avx2", "avx512"};
    return names[static_cast<std::size_t>(set)];
}

#if defined(SOTTO_DISPATCHES)
/// AVX2 with all that processors which have it have as well: FMA, F16C, BMI.
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

/// The set that SOTTO_ISA asks for; `found`, the widest there is, where it asks for nothing, for
/// more or for an unknown name. Of the last two it complains in a line, unless it already has.
///   shape   asked: null or empty if nothing is asked for
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
    // What there is up to each set: on AArch64 and with SOTTO_BASELINE_ONLY the first alone.
    constexpr const char* expected[] = {", expected baseline", ", expected baseline or sse4_2",
                                        ", expected baseline, sse4_2 or avx2",
                                        ", expected baseline, sse4_2, avx2 or avx512"};
#if defined(SOTTO_DISPATCHES)
    constexpr const char* lacking = ", which this processor does not have";
#else
    constexpr const char* lacking = ", which this build does not have";
#endif
    const char* const wrong = known ? lacking : expected[static_cast<std::size_t>(found)];
    // Not `printable`: a unit's own code must not be that of the library's other parts.
    char shown[32] = {};
    for (std::size_t i = 0; i + 1 < sizeof shown && asked[i] != '\0'; ++i)
        shown[i] = asked[i] >= ' ' && asked[i] <= '~' ? asked[i] : '?';
    std::fprintf(complaints, "sotto: SOTTO_ISA is '%s'%s; using %s\n", shown, wrong,
                 name_of(found).data());
    return found;
}

}  // namespace SOTTO_UNIT
}  // namespace sotto::detail::kernels

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

/// The widest set that this processor and its operating system have: name_of(it) is a text. The
/// environment variable SOTTO_ISA (baseline, sse4_2, avx2, avx512) can only lower it. It is read
/// once in each unit. Another value, or more than the processor has, changes nothing: a line on
/// stderr says so, once in a program.
inline detail::kernels::instruction_set best_instruction_set() noexcept {
    static const detail::kernels::instruction_set best = [] {
        return detail::kernels::obey_sotto_isa(std::getenv("SOTTO_ISA"),
                                               detail::kernels::processor_instruction_set(), stderr,
                                               sotto::detail::has_complained_of_sotto_isa);
    }();
    return best;
}

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels

namespace sotto::detail::kernels::inline SOTTO_UNIT {

// What a kernel calls becomes part of these functions: its body everywhere, the operations of the
// set (operations.hpp) wherever the compiler optimises.

template <class Kernel, class... Arguments>
SOTTO_AVX512 [[gnu::noinline, gnu::flatten]] auto run_avx512(
    const Arguments&... arguments) noexcept {
    return Kernel::template run<sotto::detail::kernels::instruction_set::avx512>(arguments...);
}
template <class Kernel, class... Arguments>
SOTTO_AVX2 [[gnu::noinline, gnu::flatten]] auto run_avx2(const Arguments&... arguments) noexcept {
    return Kernel::template run<sotto::detail::kernels::instruction_set::avx2>(arguments...);
}
template <class Kernel, class... Arguments>
SOTTO_SSE42 [[gnu::noinline, gnu::flatten]] auto run_sse4_2(
    const Arguments&... arguments) noexcept {
    return Kernel::template run<sotto::detail::kernels::instruction_set::sse4_2>(arguments...);
}
template <class Kernel, class... Arguments>
[[gnu::noinline, gnu::flatten]] auto run_baseline(const Arguments&... arguments) noexcept {
    return Kernel::template run<sotto::detail::kernels::instruction_set::baseline>(arguments...);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

/// Runs a kernel as it was compiled for the set: `Kernel::run<Set>(arguments...)`, a function
/// marked SOTTO_INLINE that calls nothing which is not, or is an operation of that set.
template <class Kernel, class... Arguments>
auto run_on(detail::kernels::instruction_set set, const Arguments&... arguments) noexcept {
#if defined(SOTTO_DISPATCHES)
    switch (set) {
        case detail::kernels::instruction_set::avx512:
            return detail::kernels::run_avx512<Kernel>(arguments...);
        case detail::kernels::instruction_set::avx2:
            return detail::kernels::run_avx2<Kernel>(arguments...);
        case detail::kernels::instruction_set::sse4_2:
            return detail::kernels::run_sse4_2<Kernel>(arguments...);
        case detail::kernels::instruction_set::baseline: break;
    }
#else
    static_cast<void>(set);
#endif
    return detail::kernels::run_baseline<Kernel>(arguments...);
}

/// The same for the widest set.
template <class Kernel, class... Arguments>
auto run_widest(const Arguments&... arguments) noexcept {
    return run_on<Kernel>(best_instruction_set(), arguments...);
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::kernels
