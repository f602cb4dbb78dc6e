#pragma once

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::kernels {

namespace detail {

template <class Kernel, class... Arguments>
SOTTO_UNFUSED SOTTO_AVX512 inline void unfused_avx512(const Arguments&... arguments) noexcept {
    Kernel::template run<instruction_set::avx512>(arguments...);
}
template <class Kernel, class... Arguments>
SOTTO_UNFUSED SOTTO_AVX2 inline void unfused_avx2(const Arguments&... arguments) noexcept {
    Kernel::template run<instruction_set::avx2>(arguments...);
}
template <class Kernel, class... Arguments>
SOTTO_UNFUSED inline void unfused_baseline(const Arguments&... arguments) noexcept {
    Kernel::template run<instruction_set::baseline>(arguments...);
}

}  // namespace detail

/// As run_widest, for kernels that give the same bits on every instruction set: wider lanes, but no
/// multiply-add is fused. Whatever has one begins with SOTTO_UNFUSED_BODY.
template <class Kernel, class... Arguments>
void run_unfused(instruction_set set, const Arguments&... arguments) noexcept {
    switch (set) {
        case instruction_set::avx512: return detail::unfused_avx512<Kernel>(arguments...);
        case instruction_set::avx2: return detail::unfused_avx2<Kernel>(arguments...);
        case instruction_set::baseline: break;
    }
    detail::unfused_baseline<Kernel>(arguments...);
}

}  // namespace sotto::kernels
