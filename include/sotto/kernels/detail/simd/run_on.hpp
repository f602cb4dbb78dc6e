#pragma once

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

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
