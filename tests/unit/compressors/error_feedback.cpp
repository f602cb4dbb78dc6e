#include "sotto/compressors/error_feedback.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/none.hpp"
#include "sotto/compressors/random_k.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/scaled_sign.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/threshold.hpp"
#include "sotto/compressors/top_k.hpp"
#include "support/generators.hpp"
#include "support/snapshot.hpp"

using namespace sotto;

namespace {

using floats = std::vector<float>;

layout of_size(std::int64_t n) {
    layout tensors;
    tensors.add("w", {n, 1});
    return tensors;
}

template <class State>
floats sent(State& state, const tensor& t, const floats& gradient) {
    bytes message;
    state.encode(t, gradient, message);
    floats sum(gradient.size());
    state.decode_add(t, message, sum);
    return sum;
}

/// Small multiples of 2^-6.
floats fine_values(std::int64_t n, std::uint64_t seed) {
    floats values = testing::integer_values(n, seed);
    for (float& x : values) x *= 0x1p-6f;
    return values;
}

template <class Inner>
void loses_nothing(const Inner& inner) {
    const layout tensors = testing::small_layout();
    auto state = error_feedback{inner}.bind(tensors);
    floats given(static_cast<std::size_t>(tensors.size())), arrived = given;
    random_stream chance(4);
    for (std::int64_t step = 0; step < 100; ++step) {
        state.begin_round({.step = step});
        const bool fails = chance.below(3) == 0;
        for (const tensor& t : tensors) {
            const floats g = fine_values(t.size, static_cast<std::uint64_t>(10 * step + t.index));
            const floats sum = sent(state, t, g);
            if (fails) continue;
            for (std::size_t i = 0; i < g.size(); ++i) {
                given[static_cast<std::size_t>(t.offset) + i] += g[i];
                arrived[static_cast<std::size_t>(t.offset) + i] += sum[i];
            }
        }
        fails ? state.rollback() : state.commit();
    }
    bool waits = false;
    for (const tensor& t : tensors) {
        const auto unsent = state.unsent(t);
        for (std::size_t i = 0; i < unsent.size(); ++i) {
            const std::size_t j = static_cast<std::size_t>(t.offset) + i;
            CHECK(arrived[j] + unsent[i] == given[j]);
            waits |= unsent[i] != 0.0f;
        }
    }
    CHECK(waits);
}

}  // namespace

TEST_CASE("what was sent and what is unsent add up to what was given, exactly") {
    loses_nothing(top_k{.density = 0.05});
    loses_nothing(random_k{.density = 0.1});
    loses_nothing(threshold{.limit = 0.25});
}

TEST_CASE("with top-k it is bit for bit what sparsified with a residual is") {
    const layout tensors = testing::small_layout();
    auto ours = error_feedback{top_k{.density = 0.05}}.bind(tensors);
    auto fused = sparsified{top_k{.density = 0.05}, residual{}}.bind(tensors);
    for (std::int64_t step = 0; step < 30; ++step) {
        ours.begin_round({.step = step});
        fused.begin_round({.step = step});
        for (const tensor& t : tensors) {
            const floats g = testing::normal_values(t.size, static_cast<std::uint64_t>(step + 7));
            bytes a, b;
            ours.encode(t, g, a);
            fused.encode(t, g, b);
            CHECK(a == b);
        }
        ours.commit();
        fused.commit();
        for (const tensor& t : tensors)
            if (!t.is_vector()) CHECK(std::ranges::equal(ours.unsent(t), fused.memory().unsent(t)));
    }
}

TEST_CASE("of signs a round loses nothing exactly, and many rounds nothing but rounding") {
    // 256 values that are multiples of 2^-6 have a mean magnitude that is one of 2^-14.
    const layout tensors = of_size(256);
    const tensor& t = tensors[0];
    auto state = error_feedback{scaled_sign{}}.bind(tensors);
    const floats first = fine_values(256, 1);
    const floats arrived = sent(state, t, first);
    state.commit();
    for (std::size_t i = 0; i < 256; ++i) CHECK(arrived[i] + state.unsent(t)[i] == first[i]);

    std::vector<double> given(256), received(256);
    for (std::size_t i = 0; i < 256; ++i) given[i] = first[i], received[i] = arrived[i];
    for (std::uint64_t step = 1; step < 1000; ++step) {
        const floats g = testing::normal_values(256, step);
        const floats sum = sent(state, t, g);
        state.commit();
        for (std::size_t i = 0; i < 256; ++i) given[i] += g[i], received[i] += sum[i];
    }
    for (std::size_t i = 0; i < 256; ++i)
        CHECK(std::abs(received[i] + state.unsent(t)[i] - given[i]) < 1e-3);
}

TEST_CASE("a constant gradient arrives by signs in the long run, and the memory stays bounded") {
    const layout tensors = of_size(64);
    const tensor& t = tensors[0];
    auto state = error_feedback{scaled_sign{}}.bind(tensors);
    const floats g = testing::normal_values(64, 5);
    std::vector<double> arrived(64);
    constexpr int rounds = 4000;
    double norm = 0.0;
    for (const float x : g) norm += double{x} * x;
    for (int round = 0; round < rounds; ++round) {
        const floats sum = sent(state, t, g);
        state.commit();
        for (std::size_t i = 0; i < 64; ++i) arrived[i] += sum[i];
        double waiting = 0.0;
        for (const float x : state.unsent(t)) waiting += double{x} * x;
        // Of a contraction by d the memory's bound is 4 (1 - d) / d^2 times the gradient's square;
        // here d is at least 1 / n.
        CHECK(waiting <= 4.0 * 64.0 * 64.0 * norm);
    }
    for (std::size_t i = 0; i < 64; ++i)
        CHECK(arrived[i] / rounds == doctest::Approx(double{g[i]}).epsilon(0.05).scale(1.0));
}

TEST_CASE("an inner compressor that sends all leaves nothing") {
    const layout tensors = testing::small_layout();
    auto state = error_feedback{none{}}.bind(tensors);
    for (const tensor& t : tensors) {
        const floats g = testing::normal_values(t.size, 5);
        CHECK(sent(state, t, g) == g);
    }
    state.commit();
    for (const tensor& t : tensors)
        CHECK(std::ranges::all_of(state.unsent(t), [](float x) { return x == 0.0f; }));
}

TEST_CASE("what overflows is an error, and the round can be undone") {
    const layout tensors = of_size(4);
    auto state = error_feedback{scaled_sign{}}.bind(tensors);
    const floats most{3e38f, 0.0f, 0.0f, 0.0f};
    sent(state, tensors[0], most);
    state.commit();
    testing::snapshot before(state);
    CHECK_THROWS_AS(sent(state, tensors[0], most), error);
    state.rollback();
    CHECK(testing::snapshot(state) == before);
}

TEST_CASE("error_feedback: a decay -> what waits counts that much less in each round") {
    const layout tensors = of_size(4);
    auto state = error_feedback{top_k{.density = 0.25}, 0.5}.bind(tensors);
    const tensor& t = tensors[0];
    const auto unsent_after = [&](const floats& gradient, const floats& expected_message) {
        state.begin_round({});
        CHECK(sent(state, t, gradient) == expected_message);
        state.commit();
        const auto unsent = state.unsent(t);
        return floats(unsent.begin(), unsent.end());
    };
    CHECK(unsent_after({8, 4, 2, 1}, {8, 0, 0, 0}) == floats{0, 4, 2, 1});
    CHECK(unsent_after({0, 0, 0, 0}, {0, 2, 0, 0}) == floats{0, 0, 1, 0.5f});
    CHECK(unsent_after({0, 0, 0, 2}, {0, 0, 0, 2.25f}) == floats{0, 0, 0.5f, 0});
    for (const double decay : {-0.1, 1.1, std::nan("")})
        CHECK_THROWS_AS((error_feedback{top_k{}, decay}.bind(tensors)), invalid_option);
}
