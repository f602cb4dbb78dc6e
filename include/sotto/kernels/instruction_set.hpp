#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sotto/core/config.hpp"

namespace sotto::kernels {

/// What the vector kernels are compiled for, besides the unit's own instruction set.
enum class instruction_set : std::uint8_t { baseline, avx2, avx512 };

/// The widest set that this processor and its operating system have. The environment variable
/// SOTTO_ISA (baseline, avx2) can only lower it; it is read once.
inline instruction_set best_instruction_set() noexcept {
    static const instruction_set best = [] {
        instruction_set found = instruction_set::baseline;
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
            found = instruction_set::avx2;
        if (found == instruction_set::avx2 && __builtin_cpu_supports("avx512f") &&
            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl"))
            found = instruction_set::avx512;
#endif
        const char* asked = std::getenv("SOTTO_ISA");
        if (asked == nullptr) return found;
        if (std::string_view(asked) == "baseline") return instruction_set::baseline;
        if (std::string_view(asked) == "avx2" && found == instruction_set::avx512)
            return instruction_set::avx2;
        return found;
    }();
    return best;
}

namespace detail {

template <class Kernel, class... Arguments>
SOTTO_AVX512 auto run_avx512(const Arguments&... arguments) noexcept {
    return Kernel::template run<instruction_set::avx512>(arguments...);
}
template <class Kernel, class... Arguments>
SOTTO_AVX2 auto run_avx2(const Arguments&... arguments) noexcept {
    return Kernel::template run<instruction_set::avx2>(arguments...);
}

}  // namespace detail

/// Runs a kernel as it was compiled for the widest set: `Kernel::run<Set>(arguments...)`, a
/// function marked SOTTO_INLINE that calls nothing which is not.
template <class Kernel, class... Arguments>
auto run_widest(const Arguments&... arguments) noexcept {
    switch (best_instruction_set()) {
        case instruction_set::avx512: return detail::run_avx512<Kernel>(arguments...);
        case instruction_set::avx2: return detail::run_avx2<Kernel>(arguments...);
        case instruction_set::baseline: break;
    }
    return Kernel::template run<instruction_set::baseline>(arguments...);
}

}  // namespace sotto::kernels
