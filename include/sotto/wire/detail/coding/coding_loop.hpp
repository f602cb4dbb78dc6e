#pragma once

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

// Codes are bound by fields that wait for the shifts of the one before: those of BMI2, which come
// with AVX2, take half as long. Wider vectors add little, so that each loop is compiled twice only;
// both times with vectors, whatever the unit's level. There is no arithmetic that could be fused.

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

/// Runs a loop of a coder: `Loop::run(arguments...)`, a function marked SOTTO_INLINE.
template <class Loop, class... Arguments>
auto run_coding_loop(const Arguments&... arguments) noexcept {
#if defined(SOTTO_DISPATCHES)
    if (sotto::kernels::best_instruction_set() >= detail::kernels::instruction_set::avx2)
        return coding_loop_avx2<Loop>(arguments...);
#endif
    return coding_loop_baseline<Loop>(arguments...);
}

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
