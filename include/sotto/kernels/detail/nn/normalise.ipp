#pragma once

#include "sotto/kernels/detail/nn/normalise.hpp"

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/run_on.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Sums over `Term`, which adds a value's, or a vector's, terms to two sums.
template <class Term>
struct add_up {
    // Four sums of each kind: each addition waits about four cycles for the previous one.
    template <instruction_set Set, class... Arguments>
    SOTTO_INLINE static two_sums run(const float* x, const float* dy, std::size_t count,
                                     const Arguments&... how) noexcept {
        constexpr std::size_t lanes = lanes_of(Set);
        floats<lanes> first[4] = {}, second[4] = {};
        std::size_t i = 0;
        for (; i + 4 * lanes <= count; i += 4 * lanes)
#pragma GCC unroll 4
            for (std::size_t v = 0; v < 4; ++v)
                add_vector<lanes>(first[v], second[v], x + i + v * lanes, dy + i + v * lanes,
                                  how...);
        for (; i + lanes <= count; i += lanes)
            add_vector<lanes>(first[0], second[0], x + i, dy + i, how...);
        two_sums sums{sum_of((first[0] + first[1]) + (first[2] + first[3])),
                      sum_of((second[0] + second[1]) + (second[2] + second[3]))};
        for (; i < count; ++i) Term::add(sums.first, sums.second, x[i], dy[i], how...);
        return sums;
    }

private:
    template <std::size_t Lanes>
    SOTTO_INLINE static void add_vector(auto& first, auto& second, const float* x, const float* dy,
                                        const auto&... how) noexcept {
        floats<Lanes> value, change;
        load(value, x);
        load(change, dy);
        Term::add(first, second, value, change, how...);
    }
};

struct deviation {
    SOTTO_INLINE static void add(auto& first, auto& second, const auto& x, const auto&,
                                 float centre) noexcept {
        const auto from_centre = x - centre;
        first += from_centre;
        second += from_centre * from_centre;
    }
};

struct apply_normalisation {
    template <int Lanes>
    SOTTO_INLINE static void step(const float* x, float* y, const normalisation& how) noexcept {
        floats<Lanes> value;
        load(value, x);
        value = (value - how.mean) * how.scale + how.shift;
        if (how.rectified) value = value < 0.0f ? floats<Lanes>{} : value;
        store(value, y);
    }
    template <instruction_set Set>
    SOTTO_INLINE static void run(const float* x, float* y, std::size_t count,
                                 const normalisation& how) noexcept {
        constexpr std::size_t lanes = lanes_of(Set);
        std::size_t i = 0;
        for (; i + lanes <= count; i += lanes) step<lanes>(x + i, y + i, how);
        for (; i < count; ++i) {
            const float value = (x[i] - how.mean) * how.scale + how.shift;
            y[i] = how.rectified && value < 0.0f ? 0.0f : value;
        }
    }
};

/// Sets dy to 0 where the rectifier was off. Recomputing y is faster than reading it.
template <class Vector>
SOTTO_INLINE void pass_rectifier(Vector& change, const Vector& value, const normalisation& how) {
    const Vector y = (value - how.mean) * how.scale + how.shift;
    change = y > 0.0f ? change : Vector{};
}

struct gradient_term {
    SOTTO_INLINE static void add(auto& first, auto& second, const auto& x, const auto& dy,
                                 const normalisation& how) noexcept {
        auto change = dy;
        if (how.rectified) pass_rectifier(change, x, how);
        first += change;
        second += change * (x - how.mean);
    }
};

/// dx = scale (dy - mean_change) - slope (x - mean), over the gradient after the rectifier.
struct normalisation_gradient {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const float* x, const float* dy, float* dx, std::size_t count,
                                 const normalisation& how, float mean_change,
                                 float slope) noexcept {
        constexpr std::size_t lanes = lanes_of(Set);
        std::size_t i = 0;
        for (; i + lanes <= count; i += lanes) {
            floats<lanes> value, change;
            load(value, x + i);
            load(change, dy + i);
            if (how.rectified) pass_rectifier(change, value, how);
            const floats<lanes> to =
                (change - mean_change) * how.scale - (value - how.mean) * slope;
            store(to, dx + i);
        }
        for (; i < count; ++i) {
            float change = dy[i];
            if (how.rectified) pass_rectifier(change, x[i], how);
            dx[i] = (change - mean_change) * how.scale - (x[i] - how.mean) * slope;
        }
    }
};

SOTTO_DECL two_sums sums_of_deviations(std::span<const float> x, float centre) noexcept {
    return run_widest<add_up<deviation>>(x.data(), x.data(), x.size(), centre);
}

SOTTO_DECL void normalise(std::span<const float> x, std::span<float> y,
                          const normalisation& how) noexcept {
    run_widest<apply_normalisation>(x.data(), y.data(), y.size(), how);
}

SOTTO_DECL two_sums sums_of_gradients(std::span<const float> x, std::span<const float> dy,
                                      const normalisation& how) noexcept {
    return run_widest<add_up<gradient_term>>(x.data(), dy.data(), x.size(), how);
}

SOTTO_DECL void normalise_back(std::span<const float> x, std::span<const float> dy,
                               std::span<float> dx, const normalisation& how, float mean_change,
                               float slope) noexcept {
    run_widest<normalisation_gradient>(x.data(), dy.data(), dx.data(), dx.size(), how, mean_change,
                                       slope);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
