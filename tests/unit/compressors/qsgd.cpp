#include "sotto/compressors/qsgd.hpp"

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
bytes encoded(State& state, const tensor& t, const floats& g, std::int64_t step, int rank = 0) {
    state.begin_round({.step = step, .rank = rank, .world_size = 4});
    bytes message;
    state.encode(t, g, message);
    return message;
}

template <class State>
floats decoded(State& state, const tensor& t, const bytes& message) {
    floats sum(static_cast<std::size_t>(t.size));
    state.decode_add(t, message, sum);
    return sum;
}

double norm_of(std::span<const float> x, qsgd::norms norm) {
    double squares = 0.0, most = 0.0;
    for (const float v : x) {
        squares += double{v} * v;
        most = std::max(most, std::abs(double{v}));
    }
    return norm == qsgd::euclidean ? std::sqrt(squares) : most;
}

constexpr qsgd::norms norms[] = {qsgd::euclidean, qsgd::maximum};

}  // namespace

TEST_CASE("the mean of many messages is the gradient, and their variance the one of the paper") {
    constexpr std::int64_t n = 700, bucket = 256;
    constexpr int draws = 3000;
    const layout tensors = of_size(n);
    floats g = testing::normal_values(n, 11);
    for (std::size_t i = 0; i < g.size(); i += 7) g[i] *= 0.01f;
    for (const std::int64_t bits : {2, 4, 8})
        for (const qsgd::norms norm : norms) {
            auto state =
                qsgd{.bits = bits, .bucket = bucket, .norm = norm, .seed = 5}.bind(tensors);
            std::vector<double> sum(g.size());
            double squares = 0.0;
            for (int step = 0; step < draws; ++step) {
                const floats q = decoded(state, tensors[0], encoded(state, tensors[0], g, step));
                for (std::size_t i = 0; i < g.size(); ++i) {
                    sum[i] += q[i];
                    squares += (double{q[i]} - g[i]) * (double{q[i]} - g[i]);
                }
            }
            const double levels = static_cast<double>((1 << (bits - 1)) - 1);
            double variance = 0.0, bound = 0.0;
            for (std::size_t start = 0; start < g.size(); start += bucket) {
                const auto part = std::span<const float>(g).subspan(
                    start, std::min<std::size_t>(bucket, g.size() - start));
                const double unit = norm_of(part, norm) / levels;
                // A value is one of two neighbouring levels. By Hoeffding's inequality the mean of
                // all draws is further off than this with a chance below 10^-9, for all 700 values,
                // six ways and both directions together: 2 * 4200 * exp(-2 draws x^2) < 10^-9.
                const double off = unit * std::sqrt(std::log(8400.0 * 1e9) / (2.0 * draws));
                for (std::size_t i = 0; i < part.size(); ++i) {
                    const double at = std::abs(double{part[i]}) / unit, up = at - std::floor(at);
                    variance += unit * unit * up * (1.0 - up);
                    CHECK(std::abs(sum[start + i] / draws - part[i]) < off);
                }
                const auto d = static_cast<double>(part.size());
                const double length = norm_of(part, qsgd::euclidean);
                bound += std::min(d / (levels * levels), std::sqrt(d) / levels) * length * length;
            }
            CHECK(squares / draws == doctest::Approx(variance).epsilon(0.05));
            CHECK(variance <= bound);
        }
}

TEST_CASE("nothing but seed, rank, step and tensor decides what is drawn") {
    layout tensors;
    tensors.add("a", {600, 1}).add("b", {600, 1});
    const floats g = testing::normal_values(600, 3);
    auto one = qsgd{.seed = 1}.bind(tensors), other = qsgd{.seed = 2}.bind(tensors);
    const bytes message = encoded(one, tensors[0], g, 7, 2);
    for (int repeat = 0; repeat < 2; ++repeat) {
        CHECK(encoded(one, tensors[0], g, 7, 2) == message);
        CHECK_FALSE(encoded(one, tensors[0], g, 8, 2) == message);
        CHECK_FALSE(encoded(one, tensors[0], g, 7, 3) == message);
        CHECK_FALSE(encoded(one, tensors[1], g, 7, 2) == message);
        CHECK_FALSE(encoded(other, tensors[0], g, 7, 2) == message);
    }
}

TEST_CASE("errors of ranks are independent: the sum of sixteen is off by four times one") {
    constexpr std::int64_t n = 20000;
    const layout tensors = of_size(n);
    const floats g = testing::normal_values(n, 3);
    auto state = qsgd{}.bind(tensors);
    std::vector<double> total(g.size());
    double alone = 0.0;
    for (int rank = 0; rank < 16; ++rank) {
        const floats q = decoded(state, tensors[0], encoded(state, tensors[0], g, 3, rank));
        for (std::size_t i = 0; i < g.size(); ++i) {
            const double off = double{q[i]} - g[i];
            total[i] += off;
            alone += off * off / 16.0;
        }
    }
    double together = 0.0;
    for (const double off : total) together += off * off;
    CHECK(std::sqrt(together / alone) == doctest::Approx(4.0).epsilon(0.05));
}

TEST_CASE("values that are steps of their bucket come back but for rounding to float") {
    floats g(512);
    for (std::size_t i = 0; i < g.size(); ++i) g[i] = static_cast<float>(i % 15) - 7.0f;
    const layout tensors = of_size(512);
    auto state = qsgd{.bits = 4, .norm = qsgd::maximum}.bind(tensors);
    const floats back = decoded(state, tensors[0], encoded(state, tensors[0], g, 0));
    for (std::size_t i = 0; i < g.size(); ++i) CHECK(std::abs(back[i] - g[i]) < 1e-6f);
}

TEST_CASE("a message has the bytes that it says: codes, and a scale for each bucket") {
    const layout tensors = testing::small_layout();
    for (const std::int64_t bits : {2, 4, 8}) {
        const auto state = qsgd{.bits = bits, .bucket = 256}.bind(tensors);
        CHECK(state.message_bytes_max(tensors[0]) == 1 + (300 * bits + 7) / 8 + 4 * 2);
        CHECK(state.message_bytes_max(tensors[1]) == 1 + 4 * 12);
        CHECK(state.message_bytes_max(tensors[3]) == 1 + 700 * bits / 8 + 4 * 3);
    }
}

TEST_CASE("options that cannot be are refused, and gradients that are not finite") {
    const layout tensors = of_size(300);
    CHECK_THROWS_WITH_AS(qsgd{.bits = 3}.bind(tensors), "qsgd: bits is 3; it must be 2, 4 or 8",
                         invalid_option);
    for (const std::int64_t bucket : {-512, 0, 128, 300, 1 << 21})
        CHECK_THROWS_AS(qsgd{.bucket = bucket}.bind(tensors), invalid_option);
    for (const qsgd::norms norm : norms) {
        auto state = qsgd{.norm = norm}.bind(tensors);
        floats g(300);
        g[5] = std::numeric_limits<float>::quiet_NaN();
        bytes out;
        CHECK_THROWS_WITH_AS(state.encode(tensors[0], g, out),
                             "qsgd: what is to be sent of tensor 'w' is not finite: element 5",
                             error);
    }
}
