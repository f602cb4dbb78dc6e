#pragma once

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

// These functions inline the kernel. With optimisation they also inline the operations of the set
// (operations.hpp).

template <class Kernel, class... Arguments>
SOTTO_AVX512 [[gnu::noinline, gnu::flatten]] auto run_avx512(
    const Arguments&... arguments) noexcept {
    return Kernel::template run<instruction_set::avx512>(arguments...);
}
template <class Kernel, class... Arguments>
SOTTO_AVX2 [[gnu::noinline, gnu::flatten]] auto run_avx2(const Arguments&... arguments) noexcept {
    return Kernel::template run<instruction_set::avx2>(arguments...);
}
template <class Kernel, class... Arguments>
SOTTO_SSE42 [[gnu::noinline, gnu::flatten]] auto run_sse4_2(
    const Arguments&... arguments) noexcept {
    return Kernel::template run<instruction_set::sse4_2>(arguments...);
}
template <class Kernel, class... Arguments>
[[gnu::noinline, gnu::flatten]] auto run_baseline(const Arguments&... arguments) noexcept {
    return Kernel::template run<instruction_set::baseline>(arguments...);
}

/// Runs a kernel as compiled for the set: `Kernel::run<Set>(arguments...)`, a function marked
/// SOTTO_INLINE. It may only call other SOTTO_INLINE functions and operations of that set.
template <class Kernel, class... Arguments>
auto run_on(instruction_set set, const Arguments&... arguments) noexcept {
#if defined(SOTTO_DISPATCHES)
    switch (set) {
        case instruction_set::avx512: return run_avx512<Kernel>(arguments...);
        case instruction_set::avx2: return run_avx2<Kernel>(arguments...);
        case instruction_set::sse4_2: return run_sse4_2<Kernel>(arguments...);
        case instruction_set::baseline: break;
    }
#else
    static_cast<void>(set);
#endif
    return run_baseline<Kernel>(arguments...);
}

/// The same for the widest set.
template <class Kernel, class... Arguments>
auto run_widest(const Arguments&... arguments) noexcept {
    return run_on<Kernel>(sotto::kernels::best_instruction_set(), arguments...);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
