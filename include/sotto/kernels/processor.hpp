#pragma once

#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::kernels::inline SOTTO_UNIT::detail {

/// What a processor is good at besides its instruction set.
struct processor {
    /// Compresses the bytes of a register in one instruction: VBMI2, which the first processors
    /// with AVX-512 do not have.
    bool compresses_bytes = false;
    /// How many values ahead memory is asked for. Intel's own fetching stops at pages; AMD's does
    /// not, and is disturbed by being told.
    std::size_t fetch_ahead = 512;
};

inline const processor& this_processor() noexcept {
    static const processor known = [] {
        processor found;
#if defined(__x86_64__)
        found.compresses_bytes = best_instruction_set() == instruction_set::avx512 &&
                                 __builtin_cpu_supports("avx512vbmi2") != 0;
        if (__builtin_cpu_is("amd") != 0) found.fetch_ahead = 0;
#endif
        return found;
    }();
    return known;
}

}  // namespace sotto::kernels::inline SOTTO_UNIT::detail
