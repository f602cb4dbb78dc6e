#include "sotto/mixing/gradient_tracking.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/layout.hpp"
#include "support/generators.hpp"

using namespace sotto;

TEST_CASE("the mean of what ranks follow is the mean of their gradients, exactly") {
    // Integers, and halves of them: all sums are exact.
    constexpr std::size_t ranks = 4;
    constexpr int steps = 8;
    const layout tensors = testing::small_layout();
    const auto size = static_cast<std::size_t>(tensors.size());
    std::vector<mixing::gradient_tracking::state> states(ranks,
                                                         mixing::gradient_tracking{}.bind(tensors));
    for (std::uint64_t step = 0; step < steps; ++step) {
        std::vector<double> mean_of_gradients(size), mean_of_followed(size);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            auto gradient = testing::integer_values(tensors.size(), 10 * step + rank);
            for (std::size_t i = 0; i < size; ++i) mean_of_gradients[i] += gradient[i] / 4.0;
            for (const tensor& t : tensors)
                states[rank].direct(t, t.of(std::span<float>(gradient)));
            const auto followed = states[rank].companion();
            for (std::size_t i = 0; i < size; ++i) {
                CHECK(gradient[i] == followed[i]);  // what it steps by
                mean_of_followed[i] += followed[i] / 4.0;
            }
        }
        CHECK(mean_of_followed == mean_of_gradients);
        // Rank i mixes with i + 1, i + 3 or both, by halves of what they are apart.
        const std::size_t apart = step % 2 == 0 ? 1 : 3;
        std::vector<std::vector<float>> before;
        for (auto& state : states)
            before.emplace_back(state.companion().begin(), state.companion().end());
        for (std::size_t rank = 0; rank < ranks; ++rank)
            for (std::size_t i = 0; i < size; ++i)
                states[rank].companion()[i] =
                    0.5f * (before[rank][i] + before[(rank + apart) % ranks][i]);
        for (auto& state : states) state.commit();
    }
}
