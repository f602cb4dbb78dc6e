#pragma once

#include "sotto/kernels/detail/update/pushed_step.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/sums.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/detail/update/compensate.hpp"
#include "sotto/kernels/detail/update/delay_compensation.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"
#include "sotto/kernels/detail/update/mean_shares.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

struct without_correction {
    SOTTO_INLINE void ahead(std::size_t) const noexcept {}
    template <class V>
    SOTTO_INLINE void correct(std::size_t, const V&, V&) const noexcept {}
};

struct constant_correction {
    float lambda;
    const float* before;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(before + i); }
    template <class V>
    SOTTO_INLINE void correct(std::size_t i, const V& weight, V& gradient) const noexcept {
        V then;
        load(then, before + i);
        compensate(lambda, weight, then, gradient);
    }
};

struct adaptive_correction {
    adaptive_compensation by;
    const float* before;
    float* s;
    mean_shares shares{by.decay};

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(before + i, s + i); }
    template <class V>
    SOTTO_INLINE void correct(std::size_t i, const V& weight, V& gradient) const noexcept {
        V square, then, lambda;
        load(square, s + i);
        load(then, before + i);
        adapt(by, shares, gradient, square, lambda);
        store(square, s + i);
        compensate(lambda, weight, then, gradient);
    }
};

/// `Streams`: writes memory that is in no cache, without fetching it first.
template <class Correction, bool Streams>
struct pushed_lanes {
    float rate;
    float* next;
    const float* w;
    const std::byte* g;
    Correction by;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept {
        fetch_ahead(w + i, g + sizeof(float) * i);
        by.ahead(i);
    }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        SOTTO_UNFUSED_BODY
        V gradient, weight;
        load(gradient, g + sizeof(float) * i);
        load(weight, w + i);
        by.correct(i, weight, gradient);
        weight = weight - rate * gradient;
        if constexpr (Streams && sizeof weight > sizeof(float))
            stream(weight, next + i);
        else
            store(weight, next + i);
    }
};

/// Runs the step at every place, as each_lane, and returns the largest bits of the gradient, see
/// max_bits.
struct watched_step {
    template <instruction_set Set, class Step>
    SOTTO_INLINE static std::uint32_t run(const Step& given, std::size_t count) noexcept {
        constexpr std::size_t lanes = lanes_of(Set), line = 16, size = sizeof(float);
        words<lanes_of(Set)> most = {};
        const Step step = given;
        const auto at_some = [&](std::size_t i) {
            max_bits::larger(step.g + size * i, most);
            step.template at<floats<lanes_of(Set)>>(i);
        };
        std::size_t i = 0;
        for (; i + line <= count; i += line) {
            step.ahead(i);
            for (std::size_t lane = 0; lane < line; lane += lanes) at_some(i + lane);
        }
        if constexpr (lanes < line)
            for (; i + lanes <= count; i += lanes) at_some(i);
        std::uint32_t largest = 0;
        for (std::size_t lane = 0; lane < lanes; ++lane) largest = (std::max)(largest, most[lane]);
        const std::size_t rest = count % lanes;  // as in each_lane
        for (std::size_t lane = 0; lane < rest; ++lane) {
            std::uint32_t bits;
            load(bits, step.g + size * (i + lane));
            largest = (std::max)(largest, bits & 0x7FFFFFFFu);
            step.template at<float>(i + lane);
        }
        return largest;
    }
};

/// Returns `run(step)`, with a step that writes past the caches if possible.
template <class Correction, class Run>
auto step_pushed(float rate, std::span<float> next, std::span<const float> w,
                 std::span<const std::byte> g, const float* before, const Correction& by, Run run) {
    require_size_of({"w", w.size()},
                    {{"next", next.size()}, {"floats of g", g.size() / sizeof(float)}},
                    "descend_pushed");
    const bool is_elsewhere = next.data() != w.data() && next.data() != before;
    if (!is_elsewhere || reinterpret_cast<std::uintptr_t>(next.data()) % 64 != 0)
        return run(pushed_lanes<Correction, false>{rate, next.data(), w.data(), g.data(), by});
    struct fence {
        ~fence() { end_streaming(); }
    } at_the_end;
    return run(pushed_lanes<Correction, true>{rate, next.data(), w.data(), g.data(), by});
}

template <class Correction>
void step_pushed(float rate, std::span<float> next, std::span<const float> w,
                 std::span<const std::byte> g, const float* before, const Correction& by) {
    step_pushed(rate, next, w, g, before, by,
                [&](const auto& step) { at_each_lane(step, w.size()); });
}

SOTTO_DECL void descend_pushed(float rate, std::span<float> next, std::span<const float> w,
                               std::span<const std::byte> g) {
    step_pushed(rate, next, w, g, nullptr, without_correction{});
}

SOTTO_DECL bool descend_pushed_if_finite(float rate, std::span<float> next,
                                         std::span<const float> w, std::span<const std::byte> g) {
    return is_finite(std::bit_cast<float>(
        step_pushed(rate, next, w, g, nullptr, without_correction{}, [&](const auto& step) {
            return run_unfused<watched_step>(sotto::kernels::best_instruction_set(), step,
                                             w.size());
        })));
}

SOTTO_DECL void descend_pushed(float rate, float lambda, std::span<float> next,
                               std::span<const float> w, std::span<const std::byte> g,
                               std::span<const float> before) {
    require_size_of({"w", w.size()}, {{"before", before.size()}}, "descend_pushed");
    step_pushed(rate, next, w, g, before.data(), constant_correction{lambda, before.data()});
}

SOTTO_DECL void descend_pushed(float rate, const adaptive_compensation& by, std::span<float> next,
                               std::span<const float> w, std::span<const std::byte> g,
                               std::span<const float> before, std::span<float> s) {
    require_size_of({"w", w.size()}, {{"before", before.size()}, {"s", s.size()}},
                    "descend_pushed");
    require_above_0("descend_pushed", "epsilon", by.epsilon);
    step_pushed(rate, next, w, g, before.data(), adaptive_correction{by, before.data(), s.data()});
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
