#include "sotto/compressors/ef21.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "sotto/compressors/none.hpp"
#include "sotto/compressors/scaled_sign.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/generators.hpp"
#include "support/numbers.hpp"
#include "support/snapshot.hpp"
#include "support/training.hpp"

using namespace sotto;

namespace {

using floats = std::vector<float>;

layout of_size(std::int64_t n) {
    layout tensors;
    tensors.add("w", {n, 1});
    return tensors;
}

/// One rank's round with itself alone: what the optimizer sees.
template <class State>
floats seen(State& state, const tensor& t, const floats& gradient, bool commit = true) {
    bytes message;
    state.encode(t, gradient, message);
    floats sum(gradient.size());
    state.decode_add(t, message, sum);
    state.after_sum(t, sum);
    if (commit) state.commit();
    return sum;
}

double squared_distance(std::span<const float> a, std::span<const float> b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    return sum;
}

floats fine_values(std::int64_t n, std::uint64_t seed) {
    floats values = testing::integer_values(n, seed);
    for (float& x : values) x *= 0x1p-6f;
    return values;
}

/// Rounds of several ranks by all_reduce, of which parameters begin at 0 and move by the sum.
template <class Compressor>
class job {
public:
    /// gradient(rank, step), already weighted; empty: the rank has no data then.
    using gradients = std::function<floats(int, std::int64_t)>;

    floats moved;                   // in the last round
    std::vector<floats> own;        // estimates of each rank
    std::vector<floats> estimates;  // of the sum, on each rank

    job(int world, std::int64_t n, const Compressor& compressor, std::int64_t rounds,
        const gradients& gradient)
        : own(static_cast<std::size_t>(world)), estimates(static_cast<std::size_t>(world)) {
        const layout tensors = of_size(n);
        run_in_process(world, [&](in_process& transport) {
            const int rank = transport.rank();
            testing::number_model model(tensors);
            auto state = all_reduce{sgd{.learning_rate = 1.0}, compressor}.bind(tensors, transport);
            floats parameters(static_cast<std::size_t>(n)), before = parameters;
            for (std::int64_t step = 0; step < rounds; ++step) {
                const floats g = gradient(rank, step);
                std::int64_t with_data = 0;
                for (int r = 0; r < world; ++r) with_data += !gradient(r, step).empty();
                model.spoil = [&](std::span<float> out) {
                    // The strategy multiplies by the share of the round.
                    for (std::size_t i = 0; i < g.size(); ++i)
                        out[i] = g[i] * static_cast<float>(with_data);
                };
                const std::int64_t examples = g.empty() ? 0 : 1;
                state.begin_epoch({.examples = examples, .batch_size = 1});
                detail::round_input<testing::number_model> work{model, {0}, examples, step, 0.0};
                before = parameters;
                state.round(work, parameters);
            }
            const auto slot = static_cast<std::size_t>(rank);
            const auto copy = [](std::span<const float> from) {
                return floats(from.begin(), from.end());
            };
            if constexpr (requires { state.compressor().estimate(tensors[0]); }) {
                own[slot] = copy(state.compressor().own_estimate(tensors[0]));
                estimates[slot] = copy(state.compressor().estimate(tensors[0]));
            }
            if (rank != 0) return;
            for (std::size_t i = 0; i < parameters.size(); ++i)
                moved.push_back(before[i] - parameters[i]);
        });
    }
};

}  // namespace

TEST_CASE("of a constant gradient the estimate is exact once every entry was chosen") {
    constexpr std::int64_t n = 100;
    const layout tensors = of_size(n);
    const floats g = fine_values(n, 3);
    auto state = ef21{top_k{.density = 0.07}}.bind(tensors);
    const double kept = 1.0 - 7.0 / n;
    double distance = squared_distance(floats(n), g);
    for (int round = 0; round < 15; ++round) {
        CHECK_FALSE(std::ranges::equal(state.estimate(tensors[0]), g));
        const floats sum = seen(state, tensors[0], g);
        CHECK(std::ranges::equal(sum, state.estimate(tensors[0])));
        CHECK(std::ranges::equal(sum, state.own_estimate(tensors[0])));
        const double now = squared_distance(sum, g);
        CHECK(now <= kept * distance);  // as the compressor contracts
        distance = now;
        if (distance == 0.0) break;
    }
    CHECK(std::ranges::equal(state.estimate(tensors[0]), g));
    CHECK(seen(state, tensors[0], g) == g);
}

TEST_CASE("what was sent is what is remembered, on every rank and of their sum, exactly") {
    constexpr std::int64_t n = 60;
    const layout tensors = of_size(n);
    auto state = ef21{top_k{.density = 0.1}}.bind(tensors);
    floats arrived(n);
    random_stream chance(3);
    for (std::uint64_t step = 0; step < 100; ++step) {
        bytes message;
        state.encode(tensors[0], fine_values(n, step), message);
        floats sum(n);
        state.decode_add(tensors[0], message, sum);
        const floats sent = sum;
        state.after_sum(tensors[0], sum);
        if (chance.below(3) == 0) {
            state.rollback();
            continue;
        }
        state.commit();
        for (std::size_t i = 0; i < n; ++i) arrived[i] += sent[i];
        CHECK(std::ranges::equal(state.own_estimate(tensors[0]), arrived));
        CHECK(sum == arrived);
    }

    for (const int world : {1, 2, 3, 5}) {
        const job ranks(world, n, ef21{top_k{.density = 0.1}}, 20, [](int rank, std::int64_t step) {
            // Multiples of the number of ranks, by which the strategy divides.
            floats g = fine_values(n, static_cast<std::uint64_t>(100 * step + rank));
            return g;
        });
        for (const floats& estimate : ranks.estimates) CHECK(estimate == ranks.estimates[0]);
        if (world == 3 || world == 5) continue;  // shares of which products are rounded
        floats sum(n);
        for (const floats& own : ranks.own)
            for (std::size_t i = 0; i < n; ++i) sum[i] += own[i];
        CHECK(sum == ranks.estimates[0]);
    }
}

TEST_CASE("at density 1 the optimizer sees the sum of the gradients") {
    for (const int world : {1, 2, 4}) {
        const auto gradient = [](int rank, std::int64_t step) {
            return fine_values(40, static_cast<std::uint64_t>(10 * step + rank));
        };
        CHECK(job(world, 40, ef21{top_k{.density = 1.0}}, 5, gradient).moved ==
              job(world, 40, none{}, 5, gradient).moved);
    }
}

TEST_CASE("opposite gradients of ranks cancel in the end, whatever is chosen of each") {
    // At a common optimum every rank has its own gradient, and they add up to nothing.
    constexpr std::int64_t n = 50;
    const auto gradient = [](int rank, std::int64_t) {
        floats g = fine_values(n, 5);
        g[7] = 1.0f;
        if (rank == 1)
            for (float& x : g) x = -x;
        return g;
    };
    const job ranks(2, n, ef21{top_k{.density = 0.1}}, 12, gradient);
    CHECK(ranks.moved == floats(n));
    CHECK(ranks.own[0] == gradient(0, 0));
    CHECK(ranks.own[1] == gradient(1, 0));
}

TEST_CASE("a rank without data takes back what it had said, so that the mean is that of others") {
    constexpr std::int64_t n = 16;
    const auto gradient = [](int rank, std::int64_t step) {
        if (rank == 1 && step > 0) return floats();
        return floats(n, static_cast<float>(1 + rank));
    };
    const job before(2, n, ef21{none{}}, 1, gradient);
    CHECK(before.own[1] == floats(n, 2.0f));
    CHECK(before.moved == floats(n, 3.0f));
    const job at_once(2, n, ef21{none{}}, 2, gradient);
    CHECK(at_once.own[1] == floats(n));
    CHECK(at_once.moved == floats(n, 1.0f));
    // A quarter of the entries a round.
    const job by_parts(2, n, ef21{top_k{.density = 0.25}}, 9, gradient);
    CHECK(by_parts.own[1] == floats(n));
    CHECK(by_parts.moved == floats(n, 1.0f));
}

TEST_CASE("momentum averages the gradient before it is followed") {
    const layout tensors = of_size(30);
    const floats g = fine_values(30, 2);
    for (const double momentum : {0.5, 0.75}) {
        auto state = ef21{none{}, momentum}.bind(tensors);
        double part = 1.0;
        for (int round = 1; round <= 5; ++round) {
            part *= momentum;
            const floats sum = seen(state, tensors[0], g);
            for (std::size_t i = 0; i < g.size(); ++i)
                CHECK(double{sum[i]} == (1.0 - part) * double{g[i]});
        }
    }
    for (const double momentum : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()})
        CHECK_THROWS_AS((ef21{none{}, momentum}.bind(tensors)), invalid_option);
}

TEST_CASE("a round that is rolled back leaves estimates and averages as they were") {
    const layout tensors = testing::small_layout();
    auto state = ef21{scaled_sign{}, 0.9}.bind(tensors);
    for (std::uint64_t step = 0; step < 6; ++step) {
        const testing::snapshot before(state);
        for (const tensor& t : tensors)
            seen(state, t, testing::normal_values(t.size, 100 + step), false);
        state.rollback();
        CHECK(testing::snapshot(state) == before);
        for (const tensor& t : tensors) seen(state, t, testing::normal_values(t.size, step), false);
        state.commit();
        CHECK_FALSE(testing::snapshot(state) == before);
    }
}

TEST_CASE("EF21: momentum near 1 -> the average in double") {
    const layout tensors = of_size(16);
    for (const double momentum : {0.9, 0.999, 0.99999}) {
        CAPTURE(momentum);
        auto state = ef21{none{}, momentum}.bind(tensors);
        std::vector<double> expected(16);
        const int rounds = std::min(static_cast<int>(4.0 / (1.0 - momentum)), 40'000);
        double first = 0.0, last = 0.0;
        for (int round = 0; round < rounds; ++round) {
            const floats g = testing::uniform_values(16, static_cast<std::uint64_t>(round));
            floats gradient(16);
            for (std::size_t i = 0; i < 16; ++i) {
                gradient[i] = g[i] + 2.0f;
                expected[i] += (1.0 - momentum) * (double{gradient[i]} - expected[i]);
            }
            seen(state, tensors[0], gradient);
            last = 0.0;
            const auto found = state.own_estimate(tensors[0]);
            for (std::size_t i = 0; i < 16; ++i)
                last += (double{found[i]} / expected[i] - 1.0) / 16.0;
            if (round == 0) first = last;
        }
        CHECK(std::abs(first) < 2e-7);
        CHECK(std::abs(last) < 5e-5);
    }
}
