#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/momentum.hpp"
#include "sotto/kernels/vector.hpp"

namespace sotto::kernels::inline SOTTO_UNIT::detail {

// Where a selection gets its values from. A source has
//   lanes_type<L>              what it holds of L values in registers
//   compute(i, lanes)          those from the i-th on; reads memory, writes none
//   values_of(lanes)           the values that are selected from
//   keep(i, lanes)             writes what a step leaves behind
//   claim(i)                   the i-th value is being sent: what is left of it is zero
//   fetch_left(i)              will soon claim the i-th
//   fetch(i)                   will soon be asked for the i-th and its neighbours in a line
// and for values that are claimed while they are written, `seconds_of(lanes)`: what must be known
// to put them back. `claims` says whether there is anything to claim.

/// Values that lie in memory.
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

/// What momentum correction accumulates: u' = m u + s g;  v' = v + u', with Nesterov
/// v' = v + (m u' + s g). The operations and their order are those of accumulate_velocity.
template <bool Nesterov, bool Mask>
struct momentum_source {
    static constexpr bool claims = true;

    template <int Lanes>
    struct lanes_type {
        floats<Lanes> value, velocity;
    };

    float momentum, scale;
    const float* gradient;
    const float* velocity;
    const float* accumulated;
    float* next_velocity;
    float* next_accumulated;

    template <int Lanes>
    SOTTO_INLINE void compute(std::size_t i, lanes_type<Lanes>& to) const noexcept {
        SOTTO_UNFUSED_BODY
        floats<Lanes> g, u, v;
        load(g, gradient + i);
        load(u, velocity + i);
        load(v, accumulated + i);
        g = scale * g;
        to.velocity = momentum * u + g;
        if constexpr (Nesterov)
            to.value = v + (momentum * to.velocity + g);
        else
            to.value = v + to.velocity;
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
        store(from.velocity, next_velocity + i);
        store(from.value, next_accumulated + i);
    }

    SOTTO_INLINE float compute_one(std::size_t i) const noexcept {
        SOTTO_UNFUSED_BODY
        const float g = scale * gradient[i];
        const float u = momentum * velocity[i] + g;
        const float v = Nesterov ? accumulated[i] + (momentum * u + g) : accumulated[i] + u;
        next_velocity[i] = u;
        next_accumulated[i] = v;
        return v;
    }
    SOTTO_INLINE float kept(std::size_t i) const noexcept { return next_accumulated[i]; }
    SOTTO_INLINE float second(std::size_t i) const noexcept { return next_velocity[i]; }
    SOTTO_INLINE void claim(std::size_t i) const noexcept {
        next_accumulated[i] = 0.0f;
        if constexpr (Mask) next_velocity[i] = 0.0f;
    }
    SOTTO_INLINE void claim_if(bool claimed, std::size_t i) const noexcept {
        next_accumulated[i] = claimed ? 0.0f : next_accumulated[i];
        if constexpr (Mask) next_velocity[i] = claimed ? 0.0f : next_velocity[i];
    }
    SOTTO_INLINE void fetch_left(std::size_t i) const noexcept {
        __builtin_prefetch(next_accumulated + i, 1);
        if constexpr (Mask) __builtin_prefetch(next_velocity + i, 1);
    }
    SOTTO_INLINE void put_back(std::size_t i, float value, float second) const noexcept {
        next_accumulated[i] = value;
        next_velocity[i] = second;
    }
    /// All lanes whose `claimed` bits are set.
    template <int Lanes>
    SOTTO_INLINE void claim(lanes_type<Lanes>& lanes, const words<Lanes>& claimed) const noexcept {
        lanes.value = floats<Lanes>(words<Lanes>(lanes.value) & ~claimed);
        if constexpr (Mask) lanes.velocity = floats<Lanes>(words<Lanes>(lanes.velocity) & ~claimed);
    }

    plain_source written() const noexcept { return {next_accumulated}; }
    void compute_all(std::size_t n) const {
        accumulate_velocity({momentum, Nesterov, scale}, {gradient, n}, {velocity, n},
                            {accumulated, n}, {next_velocity, n}, {next_accumulated, n});
    }

    SOTTO_INLINE void fetch(std::size_t i) const noexcept {
        __builtin_prefetch(gradient + i);
        __builtin_prefetch(velocity + i);
        __builtin_prefetch(accumulated + i);
    }
};

}  // namespace sotto::kernels::inline SOTTO_UNIT::detail
