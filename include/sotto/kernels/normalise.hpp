#pragma once

#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/vector.hpp"

namespace sotto::kernels {

/// Two sums over the same values.
struct two_sums {
    float first = 0.0f;
    float second = 0.0f;
};

/// What normalisation does to every value.
///   math    y = scale (x - mean) + shift, and with `rectified` the larger of that and 0
struct normalisation {
    float mean = 0.0f;
    float scale = 1.0f;
    float shift = 0.0f;
    bool rectified = false;
};

namespace detail {

// Four sums of each kind: each add waits for the one before it, about four cycles.
struct sums_of_deviations {
    template <instruction_set Set>
    SOTTO_INLINE static two_sums run(const float* x, std::int64_t count, float centre) noexcept {
        constexpr int lanes = lanes_of(Set);
        floats<lanes> first[4] = {}, second[4] = {};
        std::int64_t i = 0;
        for (; i + 4 * lanes <= count; i += 4 * lanes)
#pragma GCC unroll 4
            for (int v = 0; v < 4; ++v) {
                floats<lanes> value;
                load(value, x + i + v * lanes);
                value -= centre;
                first[v] += value;
                second[v] += value * value;
            }
        two_sums sums{sum_of((first[0] + first[1]) + (first[2] + first[3])),
                      sum_of((second[0] + second[1]) + (second[2] + second[3]))};
        for (; i < count; ++i) {
            const float value = x[i] - centre;
            sums.first += value;
            sums.second += value * value;
        }
        return sums;
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
    SOTTO_INLINE static void run(const float* x, float* y, std::int64_t count,
                                 const normalisation& how) noexcept {
        constexpr int lanes = lanes_of(Set);
        std::int64_t i = 0;
        for (; i + lanes <= count; i += lanes) step<lanes>(x + i, y + i, how);
        for (; i < count; ++i) {
            const float value = (x[i] - how.mean) * how.scale + how.shift;
            y[i] = how.rectified && value < 0.0f ? 0.0f : value;
        }
    }
};

/// What of dy comes through the rectifier: y is computed anew, which takes less time than to read
/// it.
template <class Vector>
SOTTO_INLINE void pass_rectifier(Vector& change, const Vector& value, const normalisation& how) {
    const Vector y = (value - how.mean) * how.scale + how.shift;
    change = y > 0.0f ? change : Vector{};
}

struct sums_of_gradients {
    template <instruction_set Set>
    SOTTO_INLINE static two_sums run(const float* x, const float* dy, std::int64_t count,
                                     const normalisation& how) noexcept {
        constexpr int lanes = lanes_of(Set);
        floats<lanes> first[4] = {}, second[4] = {};
        std::int64_t i = 0;
        for (; i + 4 * lanes <= count; i += 4 * lanes)
#pragma GCC unroll 4
            for (int v = 0; v < 4; ++v) {
                const std::int64_t at = i + v * lanes;
                floats<lanes> value, change;
                load(value, x + at);
                load(change, dy + at);
                if (how.rectified) pass_rectifier(change, value, how);
                first[v] += change;
                second[v] += change * (value - how.mean);
            }
        two_sums sums{sum_of((first[0] + first[1]) + (first[2] + first[3])),
                      sum_of((second[0] + second[1]) + (second[2] + second[3]))};
        for (; i < count; ++i) {
            float change = dy[i];
            if (how.rectified) pass_rectifier(change, x[i], how);
            sums.first += change;
            sums.second += change * (x[i] - how.mean);
        }
        return sums;
    }
};

/// dx = scale (dy - mean_change) - slope (x - mean), over what comes through the rectifier.
struct normalisation_gradient {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const float* x, const float* dy, float* dx, std::int64_t count,
                                 const normalisation& how, float mean_change,
                                 float slope) noexcept {
        constexpr int lanes = lanes_of(Set);
        std::int64_t i = 0;
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

}  // namespace detail

/// The sums of x - centre and of its square, in an order that depends on `count` and the
/// instruction set alone.
inline two_sums sums_of_deviations(const float* x, std::int64_t count, float centre) noexcept {
    return run_widest<detail::sums_of_deviations>(x, count, centre);
}

inline void normalise(const float* x, float* y, std::int64_t count,
                      const normalisation& how) noexcept {
    run_widest<detail::apply_normalisation>(x, y, count, how);
}

/// The sums of dy and of dy (x - mean), where dy counts only where y > 0 if y was rectified.
inline two_sums sums_of_gradients(const float* x, const float* dy, std::int64_t count,
                                  const normalisation& how) noexcept {
    return run_widest<detail::sums_of_gradients>(x, dy, count, how);
}

/// The way back through a normalisation whose mean and scale depend on x.
///   math    dx = scale (dy - mean_change) - slope (x - mean), with dy as for sums_of_gradients
inline void normalise_back(const float* x, const float* dy, float* dx, std::int64_t count,
                           const normalisation& how, float mean_change, float slope) noexcept {
    run_widest<detail::normalisation_gradient>(x, dy, dx, count, how, mean_change, slope);
}

}  // namespace sotto::kernels
