#include "sotto/compressors/momentum_corrected.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "support/generators.hpp"

using namespace sotto;

namespace {

layout one_matrix(std::int64_t n) {
    layout tensors;
    tensors.add("w", {n, 1});
    return tensors;
}

/// What a receiver adds up from one worker's message.
template <class State>
std::vector<float> sent(State& state, const tensor& t, const std::vector<float>& gradient) {
    bytes message;
    state.encode(t, gradient, message);
    std::vector<float> sum(gradient.size());
    state.decode_add(t, message, sum);
    state.commit();
    return sum;
}

/// Trains 30 steps on random gradients: w by `Optimizer` alone, v by `compressor` and SGD. Largest
/// difference.
template <class Optimizer>
double distance(const momentum_corrected& memory, const Optimizer& reference, double rate,
                double decay = 0.0) {
    const layout tensors = one_matrix(500);
    const tensor& t = tensors[0];
    auto worker = sparsified{top_k{.density = 1.0}, memory}.bind(tensors);
    auto plain = sgd{.learning_rate = rate, .weight_decay = decay}.bind(tensors);
    plain.follow_momentum(worker.momentum());
    auto expected = reference.bind(tensors);
    std::vector<float> w(500), v(500);
    double largest = 0.0;
    for (int step = 0; step < 30; ++step) {
        const auto g = testing::normal_values(500, static_cast<std::uint64_t>(step));
        worker.begin_round({.step = step});
        const auto sum = sent(worker, t, g);
        plain.begin_step({}, sum);
        plain.update(t, v, sum);
        expected.begin_step({}, g);
        expected.update(t, w, g);
        for (std::size_t i = 0; i < w.size(); ++i)
            largest = std::max(largest, double{std::abs(w[i] - v[i])});
    }
    return largest;
}

}  // namespace

TEST_CASE("at density 1 without masking it is momentum SGD") {
    CHECK(distance({.mask = false}, momentum_sgd{.learning_rate = 0.01}, 0.01) < 2e-6);
    CHECK(distance({.nesterov = true, .mask = false},
                   momentum_sgd{.learning_rate = 0.01, .nesterov = true}, 0.01) < 2e-6);
}

TEST_CASE("at density 1 without masking weight decay weighs as in momentum SGD") {
    for (const bool nesterov : {false, true}) {
        const momentum_sgd reference{
            .learning_rate = 0.01, .nesterov = nesterov, .weight_decay = 0.1};
        CHECK(distance({.nesterov = nesterov, .mask = false}, reference, 0.01, 0.1) < 2e-6);
    }
}

TEST_CASE("at density 1 masking takes the momentum away") {
    CHECK(distance({.mask = true}, sgd{.learning_rate = 0.01}, 0.01) == 0.0);
    // Nesterov sends m g + g: the step of rate * (1 + m).
    CHECK(distance({.nesterov = true, .mask = true}, sgd{.learning_rate = 0.019}, 0.01) < 2e-6);
}

TEST_CASE("masking starts at the sparsity it is given") {
    const momentum_corrected late{.mask = true, .mask_from_sparsity = 0.5};
    CHECK(distance(late, momentum_sgd{.learning_rate = 0.01}, 0.01) <
          2e-6);  // sparsity 0: not masked

    const layout tensors = one_matrix(10);
    auto worker = sparsified{top_k{.density = 0.1}, late}.bind(tensors);  // sparsity 0.9: masked
    std::vector<float> g(10, 0.0f);
    g[3] = 1.0f;
    sent(worker, tensors[0], g);
    CHECK(worker.memory().velocity(tensors[0])[3] == 0.0f);
}

TEST_CASE("one message of a constant gradient carries what the closed form says") {
    // Entry 0 wins once in T steps: the others are given gradients that keep it from being chosen
    // before.
    constexpr double m = 0.9, g = 1.0;
    for (const int period : {1, 4, 10, 100, 1000}) {
        const layout tensors = one_matrix(2);
        auto memory = momentum_corrected{.momentum = m}.bind_memory(tensors);
        const std::vector<float> gradient{1.0f, 0.0f};
        float message = 0.0f;
        for (int cycle = 0; cycle < 2; ++cycle)
            for (int t = 0; t < period; ++t) {
                const auto values = memory.accumulate(tensors[0], gradient, 1.0f);
                if (t == period - 1) {
                    message = values[0];
                    const std::uint32_t index[]{0};
                    memory.take(tensors[0], index, std::span(&message, 1), 0.999);
                }
                memory.commit();
            }
        const double masked =
            g * (period / (1 - m) - m * (1 - std::pow(m, period)) / ((1 - m) * (1 - m)));
        CHECK(message == doctest::Approx(masked).epsilon(1e-4));
        const double of_dense = masked / (period * g / (1 - m));
        const double expected = period == 1     ? 0.10
                                : period == 4   ? 0.23
                                : period == 10  ? 0.41
                                : period == 100 ? 0.91
                                                : 0.99;
        CHECK(of_dense == doctest::Approx(expected).epsilon(0.03));
    }
}

TEST_CASE("sent entries are cleared from both buffers and all others stay untouched bit for bit") {
    const layout tensors = one_matrix(1000);
    const tensor& t = tensors[0];
    auto worker = sparsified{top_k{.density = 0.01}, momentum_corrected{}}.bind(tensors);
    auto reference = momentum_corrected{}.bind_memory(tensors);
    for (int step = 0; step < 5; ++step) {
        const auto g = testing::normal_values(1000, static_cast<std::uint64_t>(step));
        const auto accumulated = reference.accumulate(t, g, 1.0f);
        const std::vector<float> before(accumulated.begin(), accumulated.end());
        const auto sum = sent(worker, t, g);
        std::vector<std::uint32_t> indices;
        for (std::uint32_t i = 0; i < 1000; ++i)
            if (sum[i] != 0.0f) indices.push_back(i);
        REQUIRE(indices.size() == 10);
        for (std::size_t i = 0; i < 1000; ++i) {
            if (sum[i] != 0.0f) {
                CHECK(sum[i] == before[i]);
                CHECK(worker.memory().unsent(t)[i] == 0.0f);
                CHECK(worker.memory().velocity(t)[i] == 0.0f);
            } else {
                CHECK(worker.memory().unsent(t)[i] == before[i]);
            }
        }
        std::vector<float> values;
        for (const auto i : indices) values.push_back(sum[i]);
        reference.take(t, indices, values, 0.99);
        reference.commit();
        for (std::size_t i = 0; i < 1000; ++i)
            CHECK(worker.memory().velocity(t)[i] == reference.velocity(t)[i]);
    }
}

TEST_CASE("what entered the accumulation is what was sent and what is left of it, exactly") {
    // Momentum of one half and integers below 9: 12 halvings fit into a float's 24 bits.
    for (const bool nesterov : {false, true})
        for (const bool mask : {false, true}) {
            const layout tensors = one_matrix(200);
            const tensor& t = tensors[0];
            const momentum_corrected memory{.momentum = 0.5, .nesterov = nesterov, .mask = mask};
            auto worker = sparsified{top_k{.density = 0.05}, memory}.bind(tensors);
            std::vector<double> entered(200), gone(200);
            for (int step = 0; step < 12; ++step) {
                const auto g = testing::integer_values(200, static_cast<std::uint64_t>(step));
                const auto before = worker.memory().velocity(t);
                for (std::size_t i = 0; i < g.size(); ++i) {
                    const double u = 0.5 * before[i] + g[i];
                    entered[i] += nesterov ? 0.5 * u + g[i] : u;
                }
                const auto sum = sent(worker, t, g);
                for (std::size_t i = 0; i < g.size(); ++i) gone[i] += sum[i];
            }
            for (std::size_t i = 0; i < 200; ++i)
                CHECK(entered[i] == gone[i] + worker.memory().unsent(t)[i]);
        }
}

TEST_CASE("without momentum it is error feedback, bit for bit") {
    const layout tensors = one_matrix(300);
    auto worker =
        sparsified{top_k{.density = 0.03}, momentum_corrected{.momentum = 0.0}}.bind(tensors);
    auto feedback = sparsified{top_k{.density = 0.03}, residual{}}.bind(tensors);
    for (int step = 0; step < 30; ++step) {
        const auto g = testing::normal_values(300, static_cast<std::uint64_t>(step));
        CHECK(sent(worker, tensors[0], g) == sent(feedback, tensors[0], g));
    }
}

TEST_CASE("impossible momentum is refused with its value") {
    CHECK_THROWS_WITH_AS(momentum_corrected{.mask_from_sparsity = 7.0}.bind_memory(one_matrix(3)),
                         "momentum_corrected: mask_from_sparsity is 7; it must be at least "
                         "0 and at most 1",
                         invalid_option);
    CHECK_THROWS_WITH_AS(momentum_corrected{.momentum = 1.0}.bind_memory(one_matrix(3)),
                         "momentum_corrected: momentum is 1; it must be at least 0 and below 1",
                         invalid_option);
    CHECK_THROWS_AS(momentum_corrected{.momentum = -0.1}.bind_memory(one_matrix(3)),
                    invalid_option);
}
