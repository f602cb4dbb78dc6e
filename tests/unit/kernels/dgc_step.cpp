#include "sotto/kernels/dgc_step.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/random.hpp"
#include "support/effort.hpp"

using namespace sotto;

namespace {

struct arrays {
    std::vector<float> gradient, velocity, accumulated;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

struct outcome {
    std::vector<std::uint32_t> indices;
    std::vector<float> values, velocity, accumulated;
};

/// One operation after the other, as the paper writes them.
outcome plainly(const detail::kernels::momentum_step& step, const arrays& in, std::int64_t k,
                bool mask) {
    const std::size_t n = in.gradient.size();
    outcome out{{}, {}, std::vector<float>(n), std::vector<float>(n)};
    detail::kernels::accumulate_velocity(step, in.gradient, in.velocity, in.accumulated,
                                         out.velocity, out.accumulated);
    kernels::top_k_scratch scratch;
    const auto found =
        kernels::select_top_k(out.accumulated, k, scratch, kernels::nan_policy::largest);
    out.indices.assign(found.indices.begin(), found.indices.end());
    out.values.assign(found.values.begin(), found.values.end());
    for (const std::uint32_t i : out.indices) {
        out.accumulated[i] = 0.0f;
        if (mask) out.velocity[i] = 0.0f;
    }
    return out;
}

template <class... Carried>
void check(const detail::kernels::momentum_step& step, const arrays& in, std::int64_t k, bool mask,
           bool in_place, kernels::top_k_scratch& scratch, Carried&... carried) {
    const outcome expected = plainly(step, in, k, mask);
    outcome out;
    out.velocity = in_place ? in.velocity : std::vector<float>(in.velocity.size(), 7.0f);
    out.accumulated = in_place ? in.accumulated : std::vector<float>(in.velocity.size(), 7.0f);
    const auto found = kernels::dgc_step(
        step,
        {in.gradient, in_place ? out.velocity : in.velocity,
         in_place ? out.accumulated : in.accumulated, out.velocity, out.accumulated},
        k, mask, scratch, carried...);
    REQUIRE(std::ranges::equal(found.indices, expected.indices));
    REQUIRE(same_bits({found.values.begin(), found.values.end()}, expected.values));
    REQUIRE(same_bits(out.velocity, expected.velocity));
    REQUIRE(same_bits(out.accumulated, expected.accumulated));
}

/// Written past the caches: from anywhere in a line on, or from two places in one.
template <class... Carried>
void check_streamed(const detail::kernels::momentum_step& step, const arrays& in, std::int64_t k,
                    bool mask, std::size_t shift, std::size_t other_shift,
                    kernels::top_k_scratch& scratch, Carried&... carried) {
    const std::size_t n = in.gradient.size();
    const outcome expected = plainly(step, in, k, mask);
    detail::large_vector<float> velocity(n + 32, 7.0f), accumulated(n + 32, 7.0f);
    const auto next_velocity = std::span(velocity).subspan(shift, n);
    const auto next_accumulated = std::span(accumulated).subspan(other_shift, n);
    const auto found = kernels::dgc_step(
        step, {in.gradient, in.velocity, in.accumulated, next_velocity, next_accumulated, true}, k,
        mask, scratch, carried...);
    REQUIRE(std::ranges::equal(found.indices, expected.indices));
    REQUIRE(same_bits({found.values.begin(), found.values.end()}, expected.values));
    REQUIRE(same_bits({next_velocity.begin(), next_velocity.end()}, expected.velocity));
    REQUIRE(same_bits({next_accumulated.begin(), next_accumulated.end()}, expected.accumulated));
    const auto untouched = [n](const detail::large_vector<float>& v, std::size_t from) {
        const auto is_7 = [](float value) { return value == 7.0f; };
        return std::all_of(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(from), is_7) &&
               std::all_of(v.begin() + static_cast<std::ptrdiff_t>(from + n), v.end(), is_7);
    };
    REQUIRE(untouched(velocity, shift));
    REQUIRE(untouched(accumulated, other_shift));
}

float value_of(std::uint64_t kind, random_stream& random, std::size_t i) {
    switch (kind) {
        case 0: return static_cast<float>(random.normal());
        case 1: return static_cast<float>(random.below(3)) - 1.0f;
        case 2: return random.below(10) > 0 ? 0.0f : static_cast<float>(random.normal());
        case 3: return 1.0f;
        default: return static_cast<float>(i);
    }
}

arrays make(std::size_t n, std::uint64_t kind, random_stream& random) {
    arrays made{std::vector<float>(n), std::vector<float>(n), std::vector<float>(n)};
    for (std::size_t i = 0; i < n; ++i) {
        made.gradient[i] = value_of(kind, random, i);
        if (kind > 2) continue;
        made.velocity[i] = value_of(kind, random, i);
        made.accumulated[i] = value_of(kind, random, i);
    }
    return made;
}

detail::kernels::momentum_step random_step(random_stream& random) {
    return {.momentum = 0.9f,
            .nesterov = random.below(2) > 0,
            .gradient_scale = random.below(2) > 0 ? 1.0f : 0.7f};
}

}  // namespace

TEST_CASE("a step is bit for bit its parts, for every length up to four registers") {
    random_stream random(5);
    kernels::top_k_scratch scratch;
    for (std::size_t n = 0; n <= 4 * 16 + 1; ++n)
        for (const bool mask : {false, true})
            for (const bool in_place : {false, true}) {
                const arrays in = make(n, random.below(5), random);
                const auto k = static_cast<std::int64_t>(random.below(n + 1));
                check(random_step(random), in, k, mask, in_place, scratch);
            }
}

TEST_CASE("random steps are bit for bit their parts") {
    random_stream random(6);
    kernels::top_k_scratch scratch;
    for (int trial = 0; trial < testing::tries(20000, 5000); ++trial) {
        const bool large = trial % 400 == 0;
        const auto n =
            static_cast<std::size_t>(large ? 17000 + random.below(60000) : random.below(100));
        const arrays in = make(n, random.below(5), random);
        auto k = static_cast<std::int64_t>(random.below(n + 1));
        if (large && random.below(3) > 0) k /= 64;
        check(random_step(random), in, k, random.below(2) > 0, random.below(2) > 0, scratch);
    }
}

TEST_CASE("steps written past the caches are bit for bit their parts, wherever a line begins") {
    random_stream random(10);
    kernels::top_k_scratch scratch;
    detail::kernels::carried_threshold carried;
    for (int trial = 0; trial < testing::tries(400, 100); ++trial) {
        const auto n = static_cast<std::size_t>(16384 + random.below(20000));
        const arrays in = make(n, random.below(5), random);
        auto k = static_cast<std::int64_t>(random.below(n + 1));
        if (const auto scarcity = random.below(4); scarcity > 0)
            k >>= 4 * scarcity;  // so few that most blocks have none, or one in some
        const auto shift = static_cast<std::size_t>(random.below(16));
        const std::size_t other =
            trial % 8 == 0 ? static_cast<std::size_t>(random.below(16)) : shift;
        const bool mask = random.below(2) > 0;
        check_streamed(random_step(random), in, k, mask, shift, other, scratch);
        check_streamed(random_step(random), in, k, mask, shift + 16, shift, scratch, carried);
    }
}

TEST_CASE("what was masked too early is put back where it was") {
    // Few places of a sample are large: thresholds are too low, or too high, for the rest.
    constexpr std::size_t n = 200000;
    const std::size_t lines = sotto::detail::kernels::threshold_sampler::sample_size(n) /
                              sotto::detail::kernels::sample_line;
    random_stream random(7);
    bool released = false, repeated = false;
    for (const bool large_where_sampled : {false, true}) {
        arrays in = make(n, 0, random);
        std::vector<bool> sampled(n);
        for (std::size_t line = 0; line < lines; ++line)
            std::fill_n(sampled.begin() + static_cast<std::ptrdiff_t>(
                                              sotto::detail::kernels::sample_place(n, lines, line)),
                        sotto::detail::kernels::sample_line, true);
        for (std::size_t i = 0; i < n; ++i)
            if (sampled[i] == large_where_sampled) in.gradient[i] *= 100.0f;
        const auto check_noting = [&](const arrays& of, std::int64_t k, bool in_place) {
            kernels::top_k_scratch scratch;  // which has not sampled anything yet
            check({.momentum = 0.9f}, of, k, true, in_place, scratch);
            released |= sotto::detail::kernels::insides::of(scratch).released();
            repeated |= sotto::detail::kernels::insides::of(scratch).repeated();
        };
        for (const std::int64_t k : {200, 2000, 20000, 60000})
            for (const bool in_place : {false, true}) check_noting(in, k, in_place);
        for (const std::int64_t k : {200, 2000, 20000, 60000}) {
            kernels::top_k_scratch scratch;
            check_streamed({.momentum = 0.9f}, in, k, true, 5, 5, scratch);
        }
    }
    CHECK(released);
    CHECK(repeated);
}

TEST_CASE("steps with a carried threshold are bit for bit their parts") {
    random_stream random(8);
    kernels::top_k_scratch scratch;
    detail::kernels::carried_threshold carried;
    arrays in = make(40000, 0, random);
    for (int step = 0; step < 40; ++step) {
        const std::int64_t k = step % 8 == 7 ? 8000 : 400;
        if (step == 20)
            for (float& g : in.gradient) g *= 1000.0f;
        check({.momentum = 0.9f}, in, k, true, false, scratch, carried);
        const outcome next = plainly({.momentum = 0.9f}, in, k, true);
        in.velocity = next.velocity;
        in.accumulated = next.accumulated;
        for (float& g : in.gradient) g += 0.1f * static_cast<float>(random.normal());
    }
}

TEST_CASE("NaN and infinity count as largest, and the rest is as it should be") {
    random_stream random(9);
    kernels::top_k_scratch scratch;
    for (const std::size_t n : {50u, 30000u}) {
        arrays in = make(n, 0, random);
        in.gradient[3] = std::numeric_limits<float>::infinity();
        in.gradient[n - 2] = std::numeric_limits<float>::quiet_NaN();
        check({.momentum = 0.9f}, in, 2, true, false, scratch);
        check({.momentum = 0.9f}, in, 2, false, true, scratch);
    }
}

TEST_CASE("buffers of other sizes are refused") {
    kernels::top_k_scratch scratch;
    std::vector<float> ten(10), nine(9);
    CHECK_THROWS_WITH_AS(kernels::dgc_step({}, {ten, nine, ten, ten, ten}, 1, true, scratch),
                         "dgc_step: the size of velocity is 9; expected 10, the size of gradient",
                         const invalid_option&);
    CHECK_THROWS_WITH_AS(
        kernels::dgc_step({}, {ten, ten, ten, ten, nine}, 1, true, scratch),
        "dgc_step: the size of next_accumulated is 9; expected 10, the size of gradient",
        const invalid_option&);
    CHECK_THROWS_WITH_AS(kernels::dgc_step({}, {ten, ten, ten, ten, ten}, 11, true, scratch),
                         "dgc_step: k is 11; expected 0 to 10, the number of values",
                         const invalid_option&);
}
