#pragma once

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

// Each field of a code waits for the shifts of the field before it. Shifts of BMI2, which AVX2
// includes, take half the time. Wider vectors add little, so each loop is compiled only twice, both
// times with vectorisation at any level of the unit. No arithmetic here could be fused.

template <class Loop, class... Arguments>
SOTTO_UNFUSED SOTTO_AVX2 [[gnu::noinline, gnu::flatten]] auto coding_loop_avx2(
    const Arguments&... arguments) noexcept {
    return Loop::run(arguments...);
}
template <class Loop, class... Arguments>
SOTTO_UNFUSED [[gnu::noinline, gnu::flatten]] auto coding_loop_baseline(
    const Arguments&... arguments) noexcept {
    return Loop::run(arguments...);
}

/// Runs the loop of a coder: `Loop::run(arguments...)`, a function marked SOTTO_INLINE.
template <class Loop, class... Arguments>
auto run_coding_loop(const Arguments&... arguments) noexcept {
#if defined(SOTTO_DISPATCHES)
    if (sotto::kernels::best_instruction_set() >= detail::kernels::instruction_set::avx2)
        return coding_loop_avx2<Loop>(arguments...);
#endif
    return coding_loop_baseline<Loop>(arguments...);
}

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
