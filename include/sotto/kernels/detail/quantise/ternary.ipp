#pragma once

#include "sotto/kernels/detail/quantise/ternary.hpp"

#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/kernels/detail/quantise/code_checks.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/quantise/quantise_block.hpp"
#include "sotto/kernels/detail/quantise/spread_of_block.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

struct ternarise_blocks {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const blocks_to_encode& all, const float& clip) noexcept {
        block_encoder<2, true, false, true>::blocks<Set>(
            all, spread_of_block<lanes_of(Set), false>{clip});
    }
};

SOTTO_DECL void ternarise(const ternarisation& how, std::span<const float> x,
                          std::span<float> scales, std::span<std::uint8_t> codes) {
    require_codes("ternarise", how.block, how.first, x.size(), 2, scales.size(), codes.size());
    require_above_0("ternarise", "clip", how.clip);
    const blocks_to_encode all{x.data(), nullptr,   x.size(),      how.block,
                               how.seed, how.first, scales.data(), codes.data()};
    if (is_finite(how.clip))
        run_unfused<ternarise_blocks>(sotto::kernels::best_instruction_set(), all, how.clip);
    else
        run_unfused<quantise_blocks<2, true, false>>(sotto::kernels::best_instruction_set(), all);
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
