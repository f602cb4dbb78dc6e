#include "sotto/compressors/terngrad.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/core/errors.hpp"
#include "support/generators.hpp"

using namespace sotto;

namespace {

using floats = std::vector<float>;

layout of_size(std::int64_t n) {
    layout tensors;
    tensors.add("w", {n, 1});
    return tensors;
}

template <class State>
floats sent(State& state, const tensor& t, const floats& g, std::int64_t step, int rank = 0) {
    state.begin_round({.step = step, .rank = rank, .world_size = 4});
    bytes message;
    state.encode(t, g, message);
    floats sum(g.size());
    state.decode_add(t, message, sum);
    return sum;
}

constexpr double unclipped = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("values are three, and the mean of many messages is the clipped gradient") {
    constexpr std::int64_t n = 500;
    constexpr int draws = 3000;
    const layout tensors = of_size(n);
    floats g = testing::normal_values(n, 11);
    g[3] = 30.0f;
    double squares = 0.0;
    for (const float x : g) squares += double{x} * x;
    for (const double clip : {2.5, 1.0, unclipped}) {
        const double scale = std::min(30.0, clip * std::sqrt(squares / n));
        auto state = terngrad{.clip = clip, .seed = 5}.bind(tensors);
        std::vector<double> sum(g.size());
        int others = 0;  // values that are neither 0 nor the scale with the right sign
        for (int step = 0; step < draws; ++step) {
            const floats q = sent(state, tensors[0], g, step);
            for (std::size_t i = 0; i < g.size(); ++i) {
                sum[i] += q[i];
                const double part = double{q[i]} / scale;
                others += q[i] != 0.0f && !(std::abs(std::abs(part) - 1.0) < 1e-5);
                others += q[i] * g[i] < 0.0f;
            }
        }
        CHECK(others == 0);
        // A value is 0 or its sign times the scale. By Hoeffding's inequality the mean of all draws
        // is further off than this with a chance below 10^-9, for all 500 values, three clips and
        // both directions together: 2 * 1500 * exp(-2 draws x^2) < 10^-9.
        const double off = scale * std::sqrt(std::log(3000.0 * 1e9) / (2.0 * draws));
        for (std::size_t i = 0; i < g.size(); ++i)
            CHECK(std::abs(sum[i] / draws - std::clamp(double{g[i]}, -scale, scale)) < off);
    }
}

TEST_CASE("nothing but seed, rank, step and tensor decides what is drawn") {
    layout tensors;
    tensors.add("a", {600, 1}).add("b", {600, 1});
    const floats g = testing::normal_values(600, 3);
    auto one = terngrad{.seed = 1}.bind(tensors), other = terngrad{.seed = 2}.bind(tensors);
    const floats expected = sent(one, tensors[0], g, 7, 2);
    CHECK_FALSE(sent(one, tensors[0], g, 8, 2) == expected);
    CHECK_FALSE(sent(one, tensors[0], g, 7, 3) == expected);
    CHECK_FALSE(sent(one, tensors[1], g, 7, 2) == expected);
    CHECK_FALSE(sent(other, tensors[0], g, 7, 2) == expected);
    CHECK(sent(one, tensors[0], g, 7, 2) == expected);
}

TEST_CASE("a layer has one scale, a larger one several, and a value two bits") {
    const layout tensors = of_size((1 << 20) + 1);
    CHECK(terngrad{}.bind(of_size(1 << 20)).message_bytes_max(of_size(1 << 20)[0]) ==
          1 + (1 << 18) + 4);
    CHECK(terngrad{}.bind(tensors).message_bytes_max(tensors[0]) == 1 + (1 << 18) + 1 + 8);
    const layout small = testing::small_layout();
    CHECK(terngrad{}.bind(small).message_bytes_max(small[1]) == 1 + 4 * 12);
    CHECK(terngrad{.dense_vectors = false}.bind(small).message_bytes_max(small[1]) == 1 + 3 + 4);
}

TEST_CASE("options that cannot be are refused, and gradients that are not finite") {
    const layout tensors = of_size(300);
    for (const double clip : {0.0, -1.0, 1e-60, std::numeric_limits<double>::quiet_NaN()})
        CHECK_THROWS_AS(terngrad{.clip = clip}.bind(tensors), invalid_option);
    CHECK_NOTHROW(terngrad{.clip = 1e300}.bind(tensors));
    CHECK_THROWS_WITH_AS(terngrad{.bucket = 1000}.bind(tensors),
                         "terngrad: bucket is 1000; it must be a power of two from 256 to 2^20",
                         invalid_option);
    auto state = terngrad{}.bind(tensors);
    floats g(300);
    g[5] = std::numeric_limits<float>::infinity();
    bytes out;
    CHECK_THROWS_WITH_AS(state.encode(tensors[0], g, out),
                         "terngrad: what is to be sent of tensor 'w' is not finite: element 5",
                         error);
}
