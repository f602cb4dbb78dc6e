// After the first step, training takes no memory on any thread: for every strategy, every
// compressor and every transport, across epochs and evaluations.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/collectives/all_gather.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/models/mlp.hpp"
#include "support/all_policies.hpp"
#include "support/all_transports.hpp"
#include "support/counting_window.hpp"
#include "support/numbers.hpp"
#include "support/sensible.hpp"
#include "support/training.hpp"

using namespace sotto;
using testing::at_the_window, testing::counted, testing::counting_window, testing::sensible;

namespace {

constexpr int world = 4;
constexpr std::int64_t epochs_counted = 4;

template <class Over, class Strategy>
std::int64_t allocations(const Strategy& strategy) {
    counting_window window(world, epochs_counted);
    Over::run(world, [&](auto& transport) {
        testing::number_model model(testing::many_tensors());
        trainer trainer{model, strategy, transport, {.batch_size = 4}};
        const int rank = transport.rank();
        const testing::numbered unseen{23};
        trainer.evaluate(unseen);  // the first evaluation takes the memory of all later ones
        trainer.fit(testing::numbered{90}, epochs{epochs_counted}, evaluate_on{unseen, 2},
                    at_the_window{&window, rank});
    });
    return window.found();
}

template <class Strategy>
void takes_no_memory(const Strategy& strategy) {
    if (!counted()) return;
    CHECK(allocations<testing::over_in_process>(strategy) == 0);
}

template <class Strategy>
void takes_no_memory_over_any_transport(const Strategy& strategy) {
    if (!counted()) return;
    CHECK(allocations<testing::over_metered>(strategy) == 0);
    CHECK(allocations<testing::over_group>(strategy) == 0);
    if constexpr (!testing::makes_groups<Strategy>)
        CHECK(allocations<testing::over_group_of_group>(strategy) == 0);
}

}  // namespace

TEST_CASE("the window shows an allocation of a single rank in a single step") {
    if (!counted()) return;
    counting_window window(world, epochs_counted);
    run_in_process(world, [&](in_process& transport) {
        testing::number_model model;
        const int rank = transport.rank();
        std::vector<int> waste;
        if (rank == 2)
            model.on_progress = [&](int announced) {
                if (announced == 1) waste.push_back(1);
            };
        trainer trainer{model, all_reduce{}, transport, {.batch_size = 4}};
        waste.reserve(2);
        trainer.fit(testing::numbered{48}, epochs{epochs_counted}, at_the_window{&window, rank});
    });
    CHECK(window.found() > 0);
}

TEST_CASE_TEMPLATE_DEFINE("every strategy trains without taking memory", S, by_strategy) {
    takes_no_memory(sensible<S>::options());
}
TEST_CASE_TEMPLATE_APPLY(by_strategy, testing::every_strategy);

TEST_CASE_TEMPLATE_DEFINE("no transport takes memory", S, by_transport) {
    takes_no_memory_over_any_transport(sensible<S>::options());
}
TEST_CASE_TEMPLATE_APPLY(by_transport, testing::strategies_of_each_kind);

TEST_CASE_TEMPLATE_DEFINE("every compressor trains without taking memory", C, by_compressor) {
    takes_no_memory(sensible<all_reduce<sgd, C>>::options());
}
TEST_CASE_TEMPLATE_APPLY(by_compressor, testing::every_compressor);

TEST_CASE("tensors take no memory alone or in groups of any size") {
    for (const std::int64_t bucket_bytes : {0, 300, 1 << 20})
        takes_no_memory(all_reduce{sgd{}, sensible<dgc>::options(), detail::collectives::fitting{},
                                   bucket_bytes});
}

TEST_CASE("clipping by the norm of the model and messages in halves take no memory either") {
    dgc options = sensible<dgc>::options();
    options.clip_norm = 5.0;
    options.clip = local_clipping::per_model;
    options.values = wire::value_format::fp16;
    takes_no_memory(all_reduce{sgd{}, options});
}

namespace {

/// What a perceptron on digits takes from its second step on, and the longest message of a tensor.
struct taken {
    std::int64_t allocations = 0;
    std::int64_t longest_message = 0;
};

template <class Strategy>
taken by_perceptron(std::int64_t hidden, std::int64_t examples, const Strategy& strategy) {
    const auto digits = data::digits(examples, random_stream{1});
    const auto unseen = data::digits(70, random_stream{2});
    counting_window window(world, epochs_counted);
    std::atomic<std::int64_t> longest = 0;
    run_in_process(world, [&](in_process& transport) {
        models::mlp model{784, hidden, 10};
        trainer trainer{model, strategy, transport, {.batch_size = 8}};
        const auto look = [&, rank = transport.rank()](const step_report& step) {
            if (rank == 0)
                for (const std::int64_t bytes : step.round.tensor_message_bytes)
                    longest = std::max(longest.load(), bytes);
        };
        trainer.evaluate(unseen);
        trainer.fit(digits, epochs{epochs_counted}, evaluate_on{unseen}, look,
                    at_the_window{&window, transport.rank()});
    });
    return {window.found(), longest};
}

}  // namespace

TEST_CASE("a multi-layer perceptron trains without taking memory") {
    if (!counted()) return;
    CHECK(by_perceptron(32, 160, all_reduce{momentum_sgd{}}).allocations == 0);
    CHECK(by_perceptron(32, 160, all_reduce{sgd{}, dgc{.warm_up_epochs = 2}}).allocations == 0);
}

TEST_CASE("tensors of many segments and long messages take no memory either") {
    if (!counted()) return;
    const auto check = [](const auto& strategy) {
        const taken found = by_perceptron(1024, 90, strategy);  // 802,816 floats in one tensor
        CHECK(found.allocations == 0);
        CHECK(found.longest_message > 32 * 1024);
    };
    check(all_reduce{sgd{}});
    check(all_reduce{sgd{}, none{}, collectives::ring{}});
    check(all_reduce{sgd{}, fp16{}, collectives::ring{}});
    check(all_reduce{sgd{}, dgc{.density = 0.02}});
    check(all_reduce{sgd{}, dgc{.density = 0.02, .warm_up_epochs = 2}});
    check(all_reduce{sgd{}, top_k{.density = 0.05}, collectives::all_gather{}});
}
