#include "sotto/strategies/gossip/mixing/gradient_tracking.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/generators.hpp"
#include "support/numbers.hpp"
#include "support/quarters.hpp"

using namespace sotto;

namespace {

/// What a strategy shows by that name.
struct shown_as {
    std::string_view wanted;
    std::vector<float>& to;

    void operator()(std::string_view name, std::span<float> values, kept) const {
        if (name == wanted) to.assign(values.begin(), values.end());
    }
    void operator()(std::string_view, auto&, kept) const {}
};

/// Trains by gossip; by how much, at most, the sum over ranks of what they follow, mixed, is off
/// that of their gradients, in any step and at any place.
template <class Topology>
double off_after(int ranks, std::int64_t steps, const Topology& topology) {
    const auto count = static_cast<std::size_t>(ranks), all = static_cast<std::size_t>(steps);
    using vectors = std::vector<std::vector<std::vector<float>>>;  // by step and rank
    const std::vector<std::vector<float>> of_step(count);
    vectors followed(all, of_step), gradients(all, of_step);
    run_in_process(ranks, [&](auto& transport) {
        const auto me = static_cast<std::size_t>(transport.rank());
        testing::number_model model;
        trainer trainer{model,
                        gossip{sgd{.learning_rate = 0.0625}, topology, no_control{}, none{},
                               mixing::gradient_tracking{}},
                        transport,
                        {.batch_size = 4}};
        trainer.fit(testing::numbered{4 * ranks * steps}, epochs{1}, [&](const step_report& step) {
            const auto t = static_cast<std::size_t>(step.step - 1);
            trainer.state().visit(shown_as{"mixing/mixed", followed[t][me]});
            trainer.state().visit(shown_as{"mixing/before", gradients[t][me]});
        });
    });
    double most = 0.0;
    for (std::size_t t = 0; t < all; ++t) {
        REQUIRE_FALSE(followed[t][0].empty());
        CHECK((ranks <= 3 || followed[t][0] != followed[t][2]));  // two that mix with others
        for (std::size_t i = 0; i < followed[t][0].size(); ++i) {
            double sum = 0.0;
            for (std::size_t rank = 0; rank < count; ++rank)
                sum += double{followed[t][rank][i]} - gradients[t][rank][i];
            most = std::max(most, std::abs(sum));
        }
    }
    return most;
}

}  // namespace

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

TEST_CASE("by gossip, too, the mean of what ranks follow is the mean of their gradients") {
    // Quarters of quarters, up to where floats end: all sums are exact.
    for (const int ranks : {2, 3, 5, 8}) CHECK(off_after(ranks, 6, testing::quarters{}) == 0.0);
    CHECK(off_after(6, 300, topologies::ring{}) < 1e-4);
}
