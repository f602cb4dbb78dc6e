#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/detail/update/velocity_lanes.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

// The sources of a selection's values. A source has
//   lanes_type<L>              the registers for L values
//   compute(i, lanes)          computes the values from the i-th on; reads memory, writes none
//   values_of(lanes)           the values to select from
//   keep(i, lanes)             writes the state that a step keeps
//   claim(i)                   the i-th value is selected: sets its kept state to zero
//   fetch_left(i)              prefetches for a claim of the i-th
//   fetch(i)                   prefetches for reading the i-th and its neighbours in a line
// A source whose values are claimed while they are written also has `seconds_of(lanes)`, the values
// needed to undo a claim. `claims` is true if a source claims. `streams` is true if kept state is
// written past the caches, from the first i on with begins_line(i).

/// Values in memory.
struct plain_source {
    static constexpr bool claims = false;

    template <int Lanes>
    struct lanes_type {
        floats<Lanes> value;
    };

    const float* values;

    template <int Lanes>
    SOTTO_INLINE void compute(std::size_t i, lanes_type<Lanes>& to) const noexcept {
        load(to.value, values + i);
    }
    template <int Lanes>
    SOTTO_INLINE const floats<Lanes>& values_of(const lanes_type<Lanes>& from) const noexcept {
        return from.value;
    }
    template <int Lanes>
    SOTTO_INLINE void keep(std::size_t, const lanes_type<Lanes>&) const noexcept {}
    SOTTO_INLINE float compute_one(std::size_t i) const noexcept { return values[i]; }
    SOTTO_INLINE float kept(std::size_t i) const noexcept { return values[i]; }
    SOTTO_INLINE void fetch(std::size_t i) const noexcept { __builtin_prefetch(values + i); }
};

/// The accumulated values of momentum correction, see accumulate_velocity.
template <bool Nesterov>
struct momentum_source {
    static constexpr bool claims = true;

    template <int Lanes>
    struct lanes_type {
        floats<Lanes> value, velocity;
    };

    static bool can_stream(const float* velocity, const float* value) noexcept {
        return place_in_line(velocity) == place_in_line(value);
    }

    velocity_lanes<Nesterov> step;
    bool mask = true;  // true: a claim also clears the velocity
    bool streams = false;

    template <int Lanes>
    SOTTO_INLINE void compute(std::size_t i, lanes_type<Lanes>& to) const noexcept {
        step.compute(i, to.velocity, to.value);
    }
    template <int Lanes>
    SOTTO_INLINE const floats<Lanes>& values_of(const lanes_type<Lanes>& from) const noexcept {
        return from.value;
    }
    template <int Lanes>
    SOTTO_INLINE const floats<Lanes>& seconds_of(const lanes_type<Lanes>& from) const noexcept {
        return from.velocity;
    }
    template <int Lanes>
    SOTTO_INLINE void keep(std::size_t i, const lanes_type<Lanes>& from) const noexcept {
        step.keep(i, from.velocity, from.value);
    }

    /// The kept state of Size values, until it is streamed.
    template <std::size_t Size>
    struct kept_near {
        alignas(64) float velocities[Size];
        alignas(64) float values[Size];

        /// Streams the first `count` of them to the i-th and later places.
        template <int Lanes>
        SOTTO_INLINE void stream(const momentum_source& to, std::size_t i,
                                 std::size_t count) const noexcept {
            floats<Lanes> lanes;
            for (std::size_t j = 0; j < count; j += Lanes) {
                load(lanes, velocities + j);
                kernels::stream(lanes, to.step.next_u + i + j);
                load(lanes, values + j);
                kernels::stream(lanes, to.step.next_v + i + j);
            }
        }
    };

    /// Returns the values from the i-th on, which write their kept state only to `kept`.
    template <std::size_t Size>
    SOTTO_INLINE momentum_source from(std::size_t i, kept_near<Size>& kept) const noexcept {
        return {{step.momentum, step.scale, step.g + i, step.u + i, step.v + i, kept.velocities,
                 kept.values},
                mask};
    }

    bool begins_line(std::size_t i) const noexcept { return place_in_line(step.next_v + i) == 0; }

    SOTTO_INLINE float compute_one(std::size_t i) const noexcept {
        float velocity, value;
        step.compute(i, velocity, value);
        step.keep(i, velocity, value);
        return value;
    }
    SOTTO_INLINE float kept(std::size_t i) const noexcept { return step.next_v[i]; }
    SOTTO_INLINE float second(std::size_t i) const noexcept { return step.next_u[i]; }
    SOTTO_INLINE void claim(std::size_t i) const noexcept {
        step.next_v[i] = 0.0f;
        if (mask) step.next_u[i] = 0.0f;
    }
    SOTTO_INLINE void claim_if(bool claimed, std::size_t i) const noexcept {
        step.next_v[i] = claimed ? 0.0f : step.next_v[i];
        step.next_u[i] = claimed && mask ? 0.0f : step.next_u[i];
    }
    SOTTO_INLINE void fetch_left(std::size_t i) const noexcept {
        __builtin_prefetch(step.next_v + i, 1);
        if (mask) __builtin_prefetch(step.next_u + i, 1);
    }
    SOTTO_INLINE void put_back(std::size_t i, float value, float second) const noexcept {
        step.next_v[i] = value;
        step.next_u[i] = second;
    }
    /// Claims all lanes whose `claimed` bits are set.
    template <int Lanes>
    SOTTO_INLINE void claim(lanes_type<Lanes>& lanes, const words<Lanes>& claimed) const noexcept {
        lanes.value = floats<Lanes>(words<Lanes>(lanes.value) & ~claimed);
        const std::uint32_t masked = mask ? ~0u : 0u;
        lanes.velocity = floats<Lanes>(words<Lanes>(lanes.velocity) & ~(claimed & masked));
    }

    plain_source written() const noexcept { return {step.next_v}; }
    void compute_all(std::size_t n) const noexcept {
        run_unfused<each_lane>(sotto::kernels::best_instruction_set(), step, n);
    }

    SOTTO_INLINE void fetch(std::size_t i) const noexcept {
        __builtin_prefetch(step.g + i);
        __builtin_prefetch(step.u + i);
        __builtin_prefetch(step.v + i);
    }

private:
    static std::uintptr_t place_in_line(const float* at) noexcept {
        return reinterpret_cast<std::uintptr_t>(at) % 64;
    }
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
