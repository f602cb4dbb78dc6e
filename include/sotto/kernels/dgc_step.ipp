#pragma once

#include "sotto/kernels/dgc_step.hpp"

#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/top_k/carried_threshold.hpp"
#include "sotto/kernels/detail/top_k/select.hpp"
#include "sotto/kernels/detail/top_k/sources.hpp"
#include "sotto/kernels/detail/top_k/top_k_search.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

template <bool Nesterov>
sotto::kernels::selection step_and_select(const momentum_step& step, const dgc_buffers& buffers,
                                          std::size_t k, bool mask, top_k_search& search,
                                          const probable_thresholds* guess) {
    using source = momentum_source<Nesterov>;
    const selected_part<source> part{
        {{step.momentum, step.gradient_scale, buffers.gradient.data(), buffers.velocity.data(),
          buffers.accumulated.data(), buffers.next_velocity.data(),
          buffers.next_accumulated.data()},
         mask,
         buffers.streams &&
             source::can_stream(buffers.next_velocity.data(), buffers.next_accumulated.data())},
        buffers.gradient.size()};
    search.run(std::span(&part, 1), k, guess);
    return {{search.places(), k}, {search.values(), k}};
}

inline sotto::kernels::selection run_step(const momentum_step& step, const dgc_buffers& buffers,
                                          std::int64_t k, bool mask,
                                          sotto::kernels::top_k_scratch& scratch,
                                          const probable_thresholds* guess) {
    const std::size_t n = buffers.gradient.size();
    require_size_of({"gradient", n},
                    {{"velocity", buffers.velocity.size()},
                     {"accumulated", buffers.accumulated.size()},
                     {"next_velocity", buffers.next_velocity.size()},
                     {"next_accumulated", buffers.next_accumulated.size()}},
                    "dgc_step");
    check_top_k(n, k, narrow_max, "dgc_step");
    if (k == 0) {
        accumulate_velocity(step, buffers.gradient, buffers.velocity, buffers.accumulated,
                            buffers.next_velocity, buffers.next_accumulated);
        return {};
    }
    const auto wanted = static_cast<std::size_t>(k);
    top_k_search& search = insides::of(scratch);
    return step.nesterov ? step_and_select<true>(step, buffers, wanted, mask, search, guess)
                         : step_and_select<false>(step, buffers, wanted, mask, search, guess);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

SOTTO_DECL selection dgc_step(const detail::kernels::momentum_step& step,
                              const detail::kernels::dgc_buffers& buffers, std::int64_t k,
                              bool mask, top_k_scratch& scratch) {
    return detail::kernels::run_step(step, buffers, k, mask, scratch, nullptr);
}

SOTTO_DECL selection dgc_step(const detail::kernels::momentum_step& step,
                              const detail::kernels::dgc_buffers& buffers, std::int64_t k,
                              bool mask, top_k_scratch& scratch,
                              detail::kernels::carried_threshold& carried) {
    const selection found = detail::kernels::run_step(step, buffers, k, mask, scratch,
                                                      detail::kernels::insides::guess_of(carried));
    detail::kernels::insides::learn(carried, scratch, k);
    return found;
}

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels
