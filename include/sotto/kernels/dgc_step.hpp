#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/momentum.hpp"
#include "sotto/kernels/select_top_k.hpp"

namespace sotto::detail::kernels {

/// The arrays of a step, all of one size. `next_*` may be the same memory as `velocity` and
/// `accumulated`: then they are updated in place.
struct dgc_buffers {
    std::span<const float> gradient;     // g
    std::span<const float> velocity;     // u
    std::span<const float> accumulated;  // v
    std::span<float> next_velocity;      // u after the step
    std::span<float> next_accumulated;   // v after the step
    /// Whether `next_*` are better written past the caches: they are memory of their own, and much
    /// else is used before they are read. Saves fetching them, where both begin at the same place
    /// in a cache line.
    bool streams = false;
};

}  // namespace sotto::detail::kernels

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

/// A whole step of Deep Gradient Compression but for the message: accumulates, selects, masks.
///   math    u' = m u + s g;  v' = v + u', with Nesterov v' = v + (m u' + s g);
///           the k largest |v'| are selected, of equal ones the lower index; there v' = 0 and, with
///           `mask`, u' = 0. Bit for bit accumulate_velocity, select_top_k and zeros one after the
///           other
///   shape   all buffers: n floats, n <= 2^32;  0 <= k <= n;  the result, whose values are those of
///           v', lives in `scratch` until the next call. What a message's format rounds away is the
///           caller's to put back into v', see compressors/sparsified.hpp
///   cost    one pass over memory: reads 12 bytes and writes 8 a weight, plus the entries; what is
///           written elsewhere than it was read from is fetched first, 8 bytes more, unless it
///           streams. What is surely selected is masked while it is written
///   errors  invalid_option for other sizes or k. A NaN counts as larger than infinity and is
///           selected: see first_non_finite and scale_and_sum_squares in reductions.hpp
///   source  Lin et al. 2018, Deep Gradient Compression, arXiv:1712.01887, algorithm 4
selection dgc_step(const detail::kernels::momentum_step& step,
                   const detail::kernels::dgc_buffers& buffers, std::int64_t k, bool mask,
                   top_k_scratch& scratch);

/// The same, to the last bit, with the threshold of the last step on these buffers if 4,096 values
/// agree with it.
selection dgc_step(const detail::kernels::momentum_step& step,
                   const detail::kernels::dgc_buffers& buffers, std::int64_t k, bool mask,
                   top_k_scratch& scratch, detail::kernels::carried_threshold& carried);

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/dgc_step.ipp"
#endif
