#include "sotto/compressors/local_clipping.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/generators.hpp"

using namespace sotto;

namespace {

/// The velocity of a bias after some steps of several ranks with gradients that differ.
std::vector<double> velocity_after(int steps, const dgc& options, int ranks) {
    layout tensors;
    tensors.add("bias", {20}, tensor_kind::bias);
    const tensor& t = tensors[0];
    std::vector<dgc::composition::state> states;
    for (int rank = 0; rank < ranks; ++rank) states.push_back(options.bind(tensors));
    std::vector<float> seen(20);
    for (int step = 0; step < steps; ++step) {
        std::vector<float> sum(20), payload(20);
        for (int rank = 0; rank < ranks; ++rank) {
            auto& state = states[static_cast<std::size_t>(rank)];
            state.begin_round({.step = step, .rank = rank, .world_size = ranks});
            auto g = testing::normal_values(20, static_cast<std::uint64_t>(100 * step + rank));
            for (float& x : g) x = (x + 2.0f * static_cast<float>(step % 3)) / float(ranks);
            state.pack(t, g, payload);
            for (std::size_t i = 0; i < 20; ++i) sum[i] += payload[i];
        }
        for (auto& state : states) {
            state.unpack(t, sum, seen);
            state.commit();
        }
    }
    return {seen.begin(), seen.end()};
}

/// The same in double as the authors' code has it: averaged, clipped, then momentum.
std::vector<double> authors_velocity_after(int steps, double max_norm, bool nesterov, int ranks) {
    std::vector<double> momentum(20), seen(20);
    for (int step = 0; step < steps; ++step) {
        std::vector<double> mean(20);
        for (int rank = 0; rank < ranks; ++rank) {
            const auto g =
                testing::normal_values(20, static_cast<std::uint64_t>(100 * step + rank));
            for (std::size_t i = 0; i < 20; ++i)
                mean[i] += (double{g[i]} + 2.0 * (step % 3)) / ranks;
        }
        double squares = 0.0;
        for (const double x : mean) squares += x * x;
        const double factor = std::min(1.0, max_norm / std::sqrt(squares));
        for (std::size_t i = 0; i < 20; ++i) {
            momentum[i] = 0.9 * momentum[i] + factor * mean[i];
            seen[i] = nesterov ? factor * mean[i] + 0.9 * momentum[i] : momentum[i];
        }
    }
    return seen;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

}  // namespace

TEST_CASE("DGC: dense tensors clipped after the sum -> the authors' velocities") {
    for (const int ranks : {1, 4, 9})
        for (const bool nesterov : {false, true}) {
            CAPTURE(ranks);
            constexpr double max_norm = 2.0;
            const dgc as_published{.nesterov = nesterov,
                                   .clip_norm = max_norm / std::sqrt(double(ranks)),
                                   .clip_dense = local_clipping::after_sum};
            const auto expected = authors_velocity_after(30, max_norm, nesterov, ranks);
            CHECK(largest_difference(velocity_after(30, as_published, ranks), expected) < 1e-5);
            dgc before = as_published;
            before.clip_dense = local_clipping::before_sum;
            if (ranks > 1)
                CHECK(largest_difference(velocity_after(30, before, ranks), expected) > 0.1);
        }
}

TEST_CASE("DGC: clipping after the sum below the limit -> no bit changes") {
    const dgc plain{}, far{.clip_norm = 1e6, .clip_dense = local_clipping::after_sum},
        off{.clip_dense = local_clipping::after_sum};
    CHECK(velocity_after(10, far, 4) == velocity_after(10, plain, 4));
    CHECK(velocity_after(10, off, 4) == velocity_after(10, plain, 4));
}

TEST_CASE("DGC: clipping after the sum where nothing is summed -> refused by name") {
    const layout tensors = testing::small_layout();
    CHECK_THROWS_WITH_AS(
        (dgc{.clip_norm = 1.0,
             .clip = local_clipping::per_model,
             .clip_dense = local_clipping::after_sum}
             .bind(tensors)),
        "local_clipping: dense is after_sum and scope per_model; the norm of the model is not "
        "known when the first tensor is summed: use local_clipping::per_tensor",
        invalid_option);
    const dgc options{.clip_norm = 1.0, .clip_dense = local_clipping::after_sum};
    auto state = options.bind(tensors);
    state.begin_round({});
    bytes message;
    const auto g = testing::normal_values(12, 1);
    CHECK_THROWS_WITH_AS(state.encode(tensors[1], g, message),
                         doctest::Contains("'first.bias' is to be clipped after the sum"),
                         invalid_option);
    CHECK_NOTHROW(state.encode(tensors[0], testing::normal_values(300, 1), message));
    run_in_process(2, [&](in_process& transport) {
        const parameter_server served{sgd{}, asynchronous{}, no_compensation{}, options};
        CHECK_THROWS_WITH_AS(served.bind(tensors, transport),
                             doctest::Contains("use local_clipping::before_sum, or all_reduce"),
                             invalid_option);
    });
}

TEST_CASE("DGC: default clipping -> the configuration's text is as before") {
    CHECK(detail::description{}.add("clipping", local_clipping{.norm = 2.0}).text() ==
          "clipping = local_clipping\nclipping.norm = 2\nclipping.scope = per_tensor\n");
    CHECK(detail::description{}
              .add("clipping", local_clipping{.norm = 2.0, .dense = local_clipping::after_sum})
              .text()
              .ends_with("clipping.dense = after_sum\n"));
}

TEST_CASE("the factor brings a gradient to the norm over the root of the workers") {
    const std::vector<float> gradient{3.0f, 0.0f, -4.0f};  // of length 5
    CHECK(local_clipping{.norm = 1.0}.factor(gradient, 1.0) == doctest::Approx(0.2));
    CHECK(local_clipping{.norm = 1.0}.factor(gradient, 1.0 / 4) == doctest::Approx(0.1));
    CHECK(local_clipping{.norm = 1.0}.factor(gradient, 1.0 / 100) == doctest::Approx(0.02));
    CHECK(local_clipping{.norm = 20.0}.factor(gradient, 1.0 / 100) == doctest::Approx(0.4));
}

TEST_CASE("gradients at or below the limit, and those of nothing, are left alone") {
    const std::vector<float> gradient{3.0f, 0.0f, -4.0f};
    CHECK(local_clipping{.norm = 5.0}.factor(gradient, 1.0) == 1.0f);
    CHECK(local_clipping{.norm = 10.0}.factor(gradient, 1.0 / 4) == 1.0f);
    CHECK(local_clipping{}.factor(gradient, 1.0 / 4) == 1.0f);
    CHECK(local_clipping{.norm = 1.0}.factor(std::vector<float>(9), 1.0 / 4) == 1.0f);
    CHECK(local_clipping{.norm = 1.0}.factor({}, 1.0 / 4) == 1.0f);
}

TEST_CASE("lengths are sums in double: neither huge nor tiny gradients overflow or vanish") {
    const std::vector<float> huge(100, 1e30f), tiny(100, 1e-30f);
    CHECK(local_clipping{.norm = 1.0}.factor(huge, 1.0) == doctest::Approx(1e-31));
    CHECK(local_clipping{.norm = 1e-30}.factor(tiny, 1.0) == doctest::Approx(0.1));
}

TEST_CASE("a norm that is negative or no number is refused") {
    const layout tensors = testing::small_layout();
    CHECK_THROWS_WITH_AS(
        dgc{.clip_norm = -2.0}.bind(tensors),
        "local_clipping: norm is -2; it must be finite and at least 0, where 0 is no clipping",
        invalid_option);
    CHECK_THROWS_AS(dgc{.clip_norm = std::nan("")}.bind(tensors), invalid_option);
}

TEST_CASE("clipping before the accumulation keeps what is remembered within the limit") {
    layout tensors;
    tensors.add("w", {50, 10});
    const tensor& t = tensors[0];
    auto worker = sparsified{
        top_k{.density = 0.01}, residual{}, constant_density{},
        local_clipping{
            1.0}}.bind(tensors);
    constexpr int rounds = 9, workers = 9;
    for (int step = 0; step < rounds; ++step) {
        worker.begin_round({.step = step, .world_size = workers});
        bytes message;
        worker.encode(t, testing::normal_values(500, static_cast<std::uint64_t>(step)), message);
        worker.commit();
        double length = 0.0;
        for (const float v : worker.memory().unsent(t)) length += double{v} * v;
        CHECK(std::sqrt(length) <= (step + 1) / std::sqrt(double{workers}) * (1 + 1e-6));
    }
}
