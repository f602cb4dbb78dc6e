#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/momentum.hpp"
#include "sotto/kernels/select_top_k.hpp"

namespace sotto::detail::kernels {

/// The arrays of a step, all of one size. `next_*` may be the same memory as `velocity` and
/// `accumulated`, which are then updated in place.
struct dgc_buffers {
    std::span<const float> gradient;     // g
    std::span<const float> velocity;     // u
    std::span<const float> accumulated;  // v
    std::span<float> next_velocity;      // u after the step
    std::span<float> next_accumulated;   // v after the step
    /// True: writes `next_*` past the caches. Faster if they are separate memory and much other
    /// memory is used before they are read. Saves fetching them if both begin at the same offset in
    /// a cache line.
    bool streams = false;
};

}  // namespace sotto::detail::kernels

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

/// Runs a whole step of Deep Gradient Compression except for the message: accumulates, selects,
/// masks.
///   math    u' = m u + s g;  v' = v + u', with Nesterov v' = v + (m u' + s g); the k largest |v'|
///           are selected, of equal ones the lower index; there v' = 0 and, with `mask`, u' = 0.
///           Bit for bit equal to accumulate_velocity, select_top_k and zeroing in sequence
///   shape   all buffers: n floats, n <= 2^32;  0 <= k <= n. The result, with the values of v', is
///           in `scratch` until the next call. The caller must add the rounding error of a
///           message's format back to v', see compressors/sparsified.hpp
///   cost    one pass over memory: reads 12 bytes and writes 8 a weight, plus the entries. Unless
///           it streams, output memory other than the input is fetched first, 8 bytes more. Values
///           certain to be selected are masked while they are written
///   errors  invalid_option for different sizes or an invalid k. A NaN counts as larger than
///           infinity and is selected: see first_non_finite and scale_and_sum_squares in
///           reductions.hpp
///   source  Lin et al. 2018, Deep Gradient Compression, arXiv:1712.01887, algorithm 4
selection dgc_step(const detail::kernels::momentum_step& step,
                   const detail::kernels::dgc_buffers& buffers, std::int64_t k, bool mask,
                   top_k_scratch& scratch);

/// The same, bit for bit, with the threshold of the last step on these buffers if 4,096 values
/// confirm it.
selection dgc_step(const detail::kernels::momentum_step& step,
                   const detail::kernels::dgc_buffers& buffers, std::int64_t k, bool mask,
                   top_k_scratch& scratch, detail::kernels::carried_threshold& carried);

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/dgc_step.ipp"
#endif
