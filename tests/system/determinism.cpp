// The same seed gives the same bits, however threads happen to be scheduled.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/random_k.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/models/lenet.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "support/numbers.hpp"
#include "support/training.hpp"

using namespace sotto;
using testing::trained;

namespace {

constexpr int world = 4;
constexpr int repeats = 100;

/// Yields now and then, each thread in its own pattern, other ones in every repeat.
class disturbance {
public:
    explicit disturbance(std::uint64_t repeat) : repeat_(repeat) {}

    void operator()() const {
        static std::atomic<std::uint64_t> threads = 0;
        thread_local random_stream random = random_stream(repeat_).split(threads++);
        for (auto yields = random.below(8); yields > 5; --yields) std::this_thread::yield();
    }

private:
    std::uint64_t repeat_;
};

template <class Strategy>
std::vector<trained> disturbed(const Strategy& strategy, std::uint64_t seed, std::uint64_t repeat) {
    std::vector<trained> left(world);
    in_process_options options;
    options.disturb = disturbance(repeat);
    run_in_process(world, options, [&](in_process& transport) {
        testing::number_model model;
        model.pull = 0.3f;  // nothing is exact: another order of sums would show
        trainer trainer{model, strategy, transport, {.batch_size = 3, .seed = seed}};
        trained& mine = left[static_cast<std::size_t>(transport.rank())];
        mine.report = trainer.fit(testing::numbered{100}, epochs{2});
        mine.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
        mine.remembered = testing::snapshot(trainer.state());
    });
    return left;
}

/// A network whose tensors are large enough to be cut into segments and sampled by threshold.
template <class Strategy>
std::vector<trained> disturbed_lenet(const Strategy& strategy, std::uint64_t seed,
                                     std::uint64_t repeat) {
    static const auto digits = data::digits(96, random_stream{5});
    std::vector<trained> left(world);
    in_process_options options;
    options.disturb = disturbance(repeat);
    run_in_process(world, options, [&](in_process& transport) {
        models::lenet model;
        trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = seed}};
        trained& mine = left[static_cast<std::size_t>(transport.rank())];
        mine.report = trainer.fit(digits, steps{4}, evaluate_on{digits});
        mine.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
        mine.remembered = testing::snapshot(trainer.state());
    });
    return left;
}

template <class Strategy>
void repeats_itself(const Strategy& strategy) {
    const auto expected = disturbed(strategy, 7, 0);
    CHECK(agree(expected));
    for (std::uint64_t repeat = 1; repeat < repeats; ++repeat) {
        const auto ranks = disturbed(strategy, 7, repeat);
        for (std::size_t rank = 0; rank < world; ++rank) {
            CHECK(ranks[rank].same_state(expected[rank]));
            CHECK(ranks[rank].report.loss == expected[rank].report.loss);
            CHECK(ranks[rank].report.total.message_bytes ==
                  expected[rank].report.total.message_bytes);
        }
    }
    CHECK_FALSE(disturbed(strategy, 8, 0)[0].same_parameters(expected[0]));
}

/// Writes down what it reads.
struct listening : testing::number_model {
    std::vector<std::int64_t>* heard = nullptr;

    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        heard->insert(heard->end(), batch.begin(), batch.end());
        return number_model::gradient(parameters, batch, out, on_ready);
    }
};

}  // namespace

TEST_CASE("whole gradients: one seed, one result") {
    repeats_itself(all_reduce{momentum_sgd{.learning_rate = 0.05}});
}

TEST_CASE("Deep Gradient Compression: one seed, one result") {
    repeats_itself(all_reduce{sgd{.learning_rate = 0.05},
                              dgc{.density = 0.1, .warm_up_epochs = 1, .clip_norm = 20.0}});
}

TEST_CASE("a convolutional network and Deep Gradient Compression: one seed, one result") {
    const all_reduce strategy{sgd{.learning_rate = 0.05}, dgc{.density = 0.01}};
    const auto expected = disturbed_lenet(strategy, 7, 0);
    CHECK(agree(expected));
    for (std::uint64_t repeat = 1; repeat < 10; ++repeat) {
        const auto ranks = disturbed_lenet(strategy, 7, repeat);
        for (std::size_t rank = 0; rank < world; ++rank) {
            CHECK(ranks[rank].same_state(expected[rank]));
            CHECK(ranks[rank].report.loss == expected[rank].report.loss);
            CHECK(ranks[rank].report.evaluated->loss == expected[rank].report.evaluated->loss);
            CHECK(ranks[rank].report.total.message_bytes ==
                  expected[rank].report.total.message_bytes);
        }
    }
    CHECK_FALSE(disturbed_lenet(strategy, 8, 0)[0].same_parameters(expected[0]));
}

TEST_CASE("random-k: one seed, one result, and its own seed counts too") {
    const auto strategy = [](std::uint64_t seed) {
        return all_reduce{momentum_sgd{.learning_rate = 0.05},
                          sparsified{random_k{.density = 0.1, .seed = seed}, residual{}}};
    };
    repeats_itself(strategy(1));
    CHECK_FALSE(disturbed(strategy(2), 7, 0)[0].same_parameters(disturbed(strategy(1), 7, 0)[0]));
}

TEST_CASE("the order of the data depends on the seed and the epoch alone") {
    const auto read = [](std::uint64_t seed, bool shuffle, detail::training_length length) {
        std::vector<std::int64_t> order;
        run_in_process(1, [&](in_process& transport) {
            listening model;
            model.heard = &order;
            trainer trainer{model,
                            all_reduce{sgd{}},
                            transport,
                            {.batch_size = 4, .seed = seed, .shuffle = shuffle}};
            trainer.fit(testing::numbered{10}, length);
        });
        return order;
    };
    const auto two = read(1, true, epochs{2});
    REQUIRE(two.size() == 20);
    CHECK(read(1, true, epochs{1}) == std::vector(two.begin(), two.begin() + 10));
    CHECK_FALSE(std::equal(two.begin(), two.begin() + 10, two.begin() + 10));
    CHECK_FALSE(read(2, true, epochs{2}) == two);
    std::vector<std::int64_t> in_order(10);
    for (std::size_t i = 0; i < 10; ++i) in_order[i] = static_cast<std::int64_t>(i);
    CHECK(read(1, false, epochs{1}) == in_order);
}
