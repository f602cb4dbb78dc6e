#pragma once

#include "sotto/kernels/detail/update/momentum.hpp"

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/detail/update/velocity_lanes.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

struct accumulate_lanes {
    float scale;
    const float *g, *v;
    float* next_v;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(g + i, v + i, next_v + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        SOTTO_UNFUSED_BODY
        V gradient, accumulated;
        load(gradient, g + i);
        load(accumulated, v + i);
        accumulated = accumulated + scale * gradient;
        store(accumulated, next_v + i);
    }
};

SOTTO_DECL void accumulate_velocity(const momentum_step& step, std::span<const float> gradient,
                                    std::span<const float> velocity,
                                    std::span<const float> accumulated,
                                    std::span<float> next_velocity,
                                    std::span<float> next_accumulated) {
    const std::size_t n = gradient.size();
    require_size_of({"gradient", n},
                    {{"velocity", velocity.size()},
                     {"accumulated", accumulated.size()},
                     {"next_velocity", next_velocity.size()},
                     {"next_accumulated", next_accumulated.size()}},
                    "accumulate_velocity");
    const auto run = [&]<bool Nesterov>() {
        at_each_lane(velocity_lanes<Nesterov>{step.momentum, step.gradient_scale, gradient.data(),
                                              velocity.data(), accumulated.data(),
                                              next_velocity.data(), next_accumulated.data()},
                     n);
    };
    step.nesterov ? run.operator()<true>() : run.operator()<false>();
}

SOTTO_DECL void accumulate(std::span<const float> gradient, float scale,
                           std::span<const float> accumulated, std::span<float> next_accumulated) {
    const std::size_t n = gradient.size();
    require_size_of(
        {"gradient", n},
        {{"accumulated", accumulated.size()}, {"next_accumulated", next_accumulated.size()}},
        "accumulate");
    at_each_lane(
        accumulate_lanes{scale, gradient.data(), accumulated.data(), next_accumulated.data()}, n);
}

SOTTO_DECL void apply_momentum(float momentum, bool nesterov, std::span<const float> velocity,
                               std::span<float> next_velocity, std::span<float> gradient) {
    const std::size_t n = gradient.size();
    require_size_of({"gradient", n},
                    {{"velocity", velocity.size()}, {"next_velocity", next_velocity.size()}},
                    "apply_momentum");
    const auto run = [&]<bool Nesterov>() {
        at_each_lane(momentum_lanes<Nesterov>{momentum, velocity.data(), next_velocity.data(),
                                              gradient.data()},
                     n);
    };
    nesterov ? run.operator()<true>() : run.operator()<false>();
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
