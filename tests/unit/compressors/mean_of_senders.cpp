#include "sotto/compressors/mean_of_senders.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/chunked_top_k.hpp"
#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/generators.hpp"
#include "support/numbers.hpp"

using namespace sotto;

namespace {

layout of_size(std::int64_t n) {
    layout tensors;
    tensors.add("w", {n, 1});
    return tensors;
}

/// What the optimizer sees in a first round of ranks with equal shares and these gradients.
template <class Compressor>
std::vector<float> seen(const Compressor& options, std::vector<std::vector<float>> gradients) {
    const layout tensors = of_size(static_cast<std::int64_t>(gradients[0].size()));
    const int ranks = static_cast<int>(gradients.size());
    auto receiver = options.bind(tensors);
    receiver.begin_round({.world_size = ranks});
    std::vector<float> sum(gradients[0].size());
    for (int rank = 0; rank < ranks; ++rank) {
        auto& g = gradients[static_cast<std::size_t>(rank)];
        for (float& x : g) x /= static_cast<float>(ranks);
        auto state = options.bind(tensors);
        state.begin_round({.rank = rank, .world_size = ranks});
        bytes message;
        state.encode(tensors[0], g, message);
        receiver.decode_add(tensors[0], message, sum);
    }
    receiver.after_sum(tensors[0], sum);
    return sum;
}

}  // namespace

TEST_CASE("mean of senders: entry of one, some, all or no ranks -> their mean") {
    using floats = std::vector<float>;
    CHECK(seen(mean_of_senders{none{}},
               {floats{8.0f, 4.0f, -4.0f, 0.0f}, floats{0.0f, 8.0f, 4.0f, 0.0f},
                floats{0.0f, 0.0f, 12.0f, 0.0f}, floats{0.0f, 0.0f, 4.0f, 0.0f}}) ==
          floats{8.0f, 6.0f, 4.0f, 0.0f});
    const auto g = testing::normal_values(50, 1);
    CHECK(seen(mean_of_senders{none{}}, {g, g, g, g}) == g);
    CHECK(seen(mean_of_senders{none{}}, {g}) == g);
}

TEST_CASE("mean of senders: first step among 4 -> almost 4 times as long") {
    std::vector<std::vector<float>> gradients;
    for (std::uint64_t rank = 0; rank < 4; ++rank)
        gradients.push_back(testing::normal_values(8192, rank));
    const auto length = [](std::span<const float> x) {
        double squares = 0.0;
        for (const float value : x) squares += double{value} * double{value};
        return std::sqrt(squares);
    };
    const error_feedback plain{chunked_top_k{.kept = 64}, 0.95};
    std::vector<float> mean(8192);
    {
        const layout tensors = of_size(8192);
        for (auto g : gradients) {
            for (float& x : g) x /= 4.0f;
            auto state = plain.bind(tensors);
            bytes message;
            state.encode(tensors[0], g, message);
            state.decode_add(tensors[0], message, mean);
        }
    }
    const double ratio = length(seen(mean_of_senders{plain}, gradients)) / length(mean);
    CHECK(ratio > 3.7);
    CHECK(ratio < 4.0);
}

TEST_CASE("mean of senders: a round that failed -> counts no sender later") {
    const layout tensors = of_size(4);
    const std::vector<float> g{1.0f, 2.0f, 0.0f, 4.0f};
    auto state = mean_of_senders{none{}}.bind(tensors);
    state.begin_round({.world_size = 2});
    bytes message;
    state.encode(tensors[0], g, message);
    std::vector<float> sum(4);
    state.decode_add(tensors[0], message, sum);
    state.rollback();
    sum.assign(4, 0.0f);
    state.begin_round({.world_size = 1});
    state.decode_add(tensors[0], message, sum);
    CHECK_THROWS_AS(state.decode_add(tensors[0], byte_view(message).first(5), sum), error);
    state.after_sum(tensors[0], sum);
    CHECK(sum == g);
    CHECK_THROWS_AS(state.begin_round({.world_size = 65536}), invalid_option);
}

TEST_CASE("mean of senders: rounds by all_reduce -> the formula in double") {
    constexpr int ranks = 3;
    constexpr std::size_t n = 40;
    const all_reduce strategy{sgd{.learning_rate = 1.0},
                              mean_of_senders{error_feedback{top_k{.density = 0.2}}}};
    std::vector<std::vector<float>> ended(ranks);
    const auto gradient_of = [](int rank, std::int64_t step) {
        return testing::integer_values(n, static_cast<std::uint64_t>(10 * step + rank));
    };
    run_in_process(ranks, [&](in_process& transport) {
        testing::number_model model(of_size(n));
        auto state = strategy.bind(model.layout(), transport);
        std::vector<float> parameters(n);
        for (std::int64_t step = 0; step < 6; ++step) {
            model.spoil = [&](std::span<float> g) {
                const auto own = gradient_of(transport.rank(), step);
                for (std::size_t i = 0; i < n; ++i) g[i] = own[i];
            };
            state.begin_epoch({.examples = 1, .batch_size = 1});
            detail::round_input<testing::number_model> job{model, {0}, 1, step, 0.0};
            state.round(job, parameters);
        }
        ended[static_cast<std::size_t>(transport.rank())] = parameters;
    });
    CHECK(ended[1] == ended[0]);
    CHECK(ended[2] == ended[0]);
    std::vector<double> expected(n);
    const layout tensors = of_size(n);
    std::vector<std::vector<float>> waits(ranks, std::vector<float>(n));
    for (std::int64_t step = 0; step < 6; ++step) {
        std::vector<double> sum(n), senders(n);
        for (int rank = 0; rank < ranks; ++rank) {
            auto& waiting = waits[static_cast<std::size_t>(rank)];
            const auto g = gradient_of(rank, step);
            for (std::size_t i = 0; i < n; ++i) waiting[i] += g[i] * (1.0f / ranks);
            auto selects = top_k{.density = 0.2}.bind(tensors);
            bytes message;
            selects.encode(tensors[0], waiting, message);
            std::vector<float> sent(n);
            selects.decode_add(tensors[0], message, sent);
            for (std::size_t i = 0; i < n; ++i) {
                waiting[i] -= sent[i];
                sum[i] += double{sent[i]};
                senders[i] += sent[i] != 0.0f;
            }
        }
        for (std::size_t i = 0; i < n; ++i)
            if (senders[i] > 0) expected[i] -= sum[i] * ranks / senders[i];
    }
    for (std::size_t i = 0; i < n; ++i)
        CHECK(double{ended[0][i]} == doctest::Approx(expected[i]).epsilon(1e-5));
}
