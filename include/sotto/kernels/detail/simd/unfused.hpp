#pragma once

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

template <class Kernel, class... Arguments>
SOTTO_UNFUSED SOTTO_AVX512 [[gnu::noinline, gnu::flatten]] auto unfused_avx512(
    const Arguments&... arguments) noexcept {
    return Kernel::template run<instruction_set::avx512>(arguments...);
}
template <class Kernel, class... Arguments>
SOTTO_UNFUSED SOTTO_AVX2 [[gnu::noinline, gnu::flatten]] auto unfused_avx2(
    const Arguments&... arguments) noexcept {
    return Kernel::template run<instruction_set::avx2>(arguments...);
}
template <class Kernel, class... Arguments>
SOTTO_UNFUSED SOTTO_SSE42 [[gnu::noinline, gnu::flatten]] auto unfused_sse4_2(
    const Arguments&... arguments) noexcept {
    return Kernel::template run<instruction_set::sse4_2>(arguments...);
}
template <class Kernel, class... Arguments>
SOTTO_UNFUSED [[gnu::noinline, gnu::flatten]] auto unfused_baseline(
    const Arguments&... arguments) noexcept {
    return Kernel::template run<instruction_set::baseline>(arguments...);
}

/// As run_on, for kernels that give the same bits on every instruction set: lanes are wider, but no
/// multiply-add is fused. Functions with one must begin with SOTTO_UNFUSED_BODY.
/// "The same bits" holds for translation units with IEEE arithmetic. It does not hold with
/// -ffast-math or a part of it, or with clang's -ffp-contract=fast, which overrides the pragma.
template <class Kernel, class... Arguments>
auto run_unfused(instruction_set set, const Arguments&... arguments) noexcept {
#if defined(SOTTO_DISPATCHES)
    switch (set) {
        case instruction_set::avx512: return unfused_avx512<Kernel>(arguments...);
        case instruction_set::avx2: return unfused_avx2<Kernel>(arguments...);
        case instruction_set::sse4_2: return unfused_sse4_2<Kernel>(arguments...);
        case instruction_set::baseline: break;
    }
#else
    static_cast<void>(set);
#endif
    return unfused_baseline<Kernel>(arguments...);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
