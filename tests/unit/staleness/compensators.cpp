#include "sotto/staleness/staleness_compensator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/staleness/ada_delay.hpp"
#include "sotto/staleness/delay_compensation.hpp"
#include "sotto/staleness/delay_compensation_adaptive.hpp"
#include "sotto/staleness/gap_aware.hpp"
#include "sotto/staleness/inverse_staleness.hpp"
#include "sotto/staleness/no_compensation.hpp"

using namespace sotto;

namespace {

layout one_vector(std::int64_t n) {
    layout made;
    made.add("w", {n});
    return made;
}

}  // namespace

TEST_CASE("rates: none, 1 / tau, and AdaDelay's") {
    const layout tensors = one_vector(1);
    CHECK(no_compensation{}.bind(tensors, 1).begin({.staleness = 7}) == 1.0);
    const auto inverse = inverse_staleness{}.bind(tensors, 1);
    CHECK(inverse.begin({.staleness = 0}) == 1.0);
    CHECK(inverse.begin({.staleness = 1}) == 1.0);
    CHECK(inverse.begin({.staleness = 4}) == 0.25);
    // rate 0.1 becomes 1 / (10 + 0.1 sqrt(88 + 12)) = 1 / 11
    const auto ada = ada_delay{.c = 0.1}.bind(tensors, 1);
    CHECK(0.1 * ada.begin({.staleness = 12, .step = 88, .learning_rate = 0.1}) ==
          doctest::Approx(1.0 / 11.0));
}

TEST_CASE("on a quadratic with lambda g^2 = h the corrected gradient is the fresh one") {
    const layout tensors = one_vector(3);
    const tensor& t = *tensors.begin();
    for (const float h : {0.5f, 1.0f, 4.0f}) {
        const float a = 0.25f;
        const std::vector<float> then(3, 2.25f), now{1.0f, 2.25f, 3.5f};
        std::vector<float> g(3, h * (2.25f - a));  // 2 h
        auto state = delay_compensation{.lambda = h / (4.0 * h * h)}.bind(tensors, 1);
        state.compensate(t, g, now, then);
        for (std::size_t i = 0; i < 3; ++i) CHECK(g[i] == h * (now[i] - a));
    }
}

TEST_CASE("the correction opposes a gradient whose descent has taken place already") {
    const layout tensors = one_vector(1);
    const tensor& t = *tensors.begin();
    std::vector<float> g{2.0f};
    const std::vector<float> then{1.0f}, now{0.5f};
    delay_compensation{.lambda = 0.1}.bind(tensors, 1).compensate(t, g, now, then);
    CHECK(g[0] < 2.0f);
    CHECK(g[0] > 0.0f);
}

TEST_CASE("for a batch of B the unbiased lambda is B") {
    // Mean of a Gaussian with variance 1: h = 1, and the gradient of a batch has variance 1 / B.
    // Then lambda g^2 is h on the mean: by it the correction grows with each step away.
    const layout tensors = one_vector(1);
    const std::vector<float> then{0.0f}, now{1.0f};
    random_stream random(3);
    for (const int batch : {1, 4, 16}) {
        auto state = delay_compensation{.lambda = static_cast<double>(batch)}.bind(tensors, 1);
        double sum = 0.0;
        constexpr int draws = 40000;
        for (int i = 0; i < draws; ++i) {
            double g = 0.0;
            for (int b = 0; b < batch; ++b) g += static_cast<double>(random.normal());
            g /= batch;
            std::vector<float> corrected{static_cast<float>(g)};
            state.compensate(*tensors.begin(), corrected, now, then);
            sum += static_cast<double>(corrected[0]) - g;
        }
        CHECK(sum / draws == doctest::Approx(1.0).epsilon(0.03));
    }
}

TEST_CASE("with exact compensation a late gradient is stable as long as a fresh one") {
    // w^2 / 2 with gradients 4 steps old: h = 1 is lambda g^2 for lambda = 1 / g^2.
    const layout tensors = one_vector(1);
    const auto size_after = [&](double rate, bool compensates) {
        std::vector<float> path(5, 1.0f);
        for (int step = 0; step < 400 && std::abs(path.back()) < 1e6f; ++step) {
            const std::vector<float> then{path[path.size() - 5]}, now{path.back()};
            std::vector<float> g = then;
            const double square = static_cast<double>(g[0]) * static_cast<double>(g[0]);
            if (compensates && square > 1e-30)
                delay_compensation{.lambda = 1.0 / square}
                    .bind(tensors, 1)
                    .compensate(*tensors.begin(), g, now, then);
            path.push_back(now[0] - static_cast<float>(rate) * g[0]);
        }
        return std::abs(path.back());
    };
    CHECK(size_after(1.9, true) < 1e-6f);
    CHECK(size_after(2.1, true) > 1e6f);
    CHECK(size_after(1.9, false) > 1e6f);
    CHECK(size_after(0.36, false) > 1.0f);  // 2 sin(pi / 18) = 0.347
}

TEST_CASE("a bound keeps the correction within a share of the gradient") {
    const layout tensors = one_vector(2);
    const tensor& t = *tensors.begin();
    const std::vector<float> then{0.0f, 0.0f}, now{100.0f, -100.0f};
    std::vector<float> g{2.0f, 2.0f};
    delay_compensation{.lambda = 1.0, .bound = 0.5}.bind(tensors, 1).compensate(t, g, now, then);
    CHECK(g == std::vector<float>{3.0f, 1.0f});
    g = {2.0f, 2.0f};
    auto adaptive = delay_compensation_adaptive{.lambda = 2.0, .bound = 1.0}.bind(tensors, 1);
    (void)adaptive.begin({});
    adaptive.compensate(t, g, now, then);
    CHECK(g == std::vector<float>{4.0f, 0.0f});
}

TEST_CASE("DC-ASGD-a: after one push the mean square is (1 - m) g^2, for each worker if asked") {
    const layout tensors = one_vector(2);
    const tensor& t = *tensors.begin();
    const std::vector<float> w(2);
    for (const bool per_worker : {false, true}) {
        auto state =
            delay_compensation_adaptive{.decay = 0.75, .per_worker = per_worker}.bind(tensors, 2);
        std::vector<float> g{2.0f, -4.0f};
        (void)state.begin({.worker = 1});
        state.compensate(t, g, w, w);
        CHECK(g == std::vector<float>{2.0f, -4.0f});  // it is not late
        const auto square = state.mean_square(per_worker ? 1 : 0);
        CHECK(square[0] == 1.0f);
        CHECK(square[1] == 4.0f);
        if (per_worker) {
            CHECK(state.mean_square(0)[0] == 0.0f);
            state.forget(1);
            CHECK(state.mean_square(1)[0] == 0.0f);
        }
    }
}

TEST_CASE("DC-ASGD-a: decay near 1 -> the mean square in double") {
    const layout tensors = one_vector(4);
    const tensor& t = *tensors.begin();
    const std::vector<float> w(4);
    const std::vector<std::uint32_t> indices{1, 3};
    for (const double decay : {0.95, 0.999, 0.99999})
        for (const bool by_entries : {false, true}) {
            CAPTURE(decay);
            CAPTURE(by_entries);
            auto state = delay_compensation_adaptive{.decay = decay}.bind(tensors, 1);
            std::vector<double> expected(4);
            random_stream random(5);
            const int steps = std::min(static_cast<int>(5.0 / (1.0 - decay)), 100'000);
            for (int step = 0; step < steps; ++step) {
                // Without data from the middle on: what remains decays.
                const float size = 2 * step < steps ? 1.0f : 0.0f;
                std::vector<float> g(4), values;
                for (const std::uint32_t i : indices) g[i] = size * (2.0f + random.normal());
                for (const std::uint32_t i : indices) values.push_back(g[i]);
                for (std::size_t i = 0; i < 4; ++i)
                    expected[i] += (1.0 - decay) * (double{g[i]} * double{g[i]} - expected[i]);
                (void)state.begin({});
                if (by_entries)
                    state.compensate_at(t, values, indices, w, w);
                else
                    state.compensate(t, g, w, w);
                if (step == 0)
                    CHECK(std::abs(double{state.mean_square()[1]} / expected[1] - 1.0) < 3e-7);
            }
            const auto square = state.mean_square();
            for (const std::uint32_t i : indices)
                CHECK(std::abs(double{square[i]} / expected[i] - 1.0) < 3e-4);
            CHECK(square[0] == 0.0f);
        }
}

TEST_CASE("gap-aware divides by the distance in usual steps") {
    const layout tensors = one_vector(2);
    const tensor& t = *tensors.begin();
    auto state = gap_aware{}.bind(tensors, 1);
    std::vector<float> g{6.0f, 6.0f};
    const std::vector<float> then{0.0f, 0.0f}, now{4.0f, 0.0f};
    state.compensate(t, g, now, then);
    CHECK(g == std::vector<float>{6.0f, 6.0f});  // nothing has moved yet
    state.moved(t, std::vector<float>{-1.0f, 0.0f});
    state.moved(t, std::vector<float>{3.0f, 0.0f});
    state.compensate(t, g, now, then);  // 4 is two steps of the mean length 2
    CHECK(g == std::vector<float>{2.0f, 6.0f});
}

TEST_CASE("what cannot be is refused by name") {
    const layout tensors = one_vector(1);
    CHECK_THROWS_WITH_AS((void)delay_compensation{.lambda = -1.0}.bind(tensors, 1),
                         "delay_compensation: lambda is -1; it must be finite and at least 0",
                         invalid_option);
    CHECK_THROWS_AS((void)delay_compensation{.bound = -0.5}.bind(tensors, 1), invalid_option);
    CHECK_THROWS_AS((void)delay_compensation_adaptive{.decay = 1.0}.bind(tensors, 1),
                    invalid_option);
    CHECK_THROWS_AS((void)delay_compensation_adaptive{.epsilon = 0.0}.bind(tensors, 1),
                    invalid_option);
    CHECK_THROWS_AS((void)ada_delay{.c = -1.0}.bind(tensors, 1), invalid_option);
}
