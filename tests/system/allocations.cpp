// After the first step, training takes no memory on any thread: for every strategy, every
// compressor and every transport, across epochs and evaluations.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sotto/data/digits.hpp"
#include "sotto/models/mlp.hpp"
#include "support/all_policies.hpp"
#include "support/all_transports.hpp"
#include "support/allocation_count.hpp"
#include "support/numbers.hpp"
#include "support/sensible.hpp"
#include "support/training.hpp"

using namespace sotto;
using testing::sensible;

namespace {

constexpr int world = 4;
constexpr std::int64_t epochs_counted = 4;

/// Counts what all threads allocate from the end of the first step to the last epoch's end. All
/// ranks meet at both ends, so that what one allocates before or after is not counted.
class counting_window {
public:
    explicit counting_window(int ranks) : meeting_(ranks) {}

    void on_step(int rank, const step_report& report) {
        if (report.step != 1) return;
        meeting_.arrive_and_wait();  // every rank has done its first step
        if (rank == 0) count_.emplace();
        meeting_.arrive_and_wait();
    }

    void on_epoch(int rank, const epoch_report& report) {
        if (report.epoch != epochs_counted) return;
        meeting_.arrive_and_wait();  // no rank does anything any more
        if (rank == 0) found_ = count_->on_all_threads();
        meeting_.arrive_and_wait();
    }

    std::int64_t found() const { return found_; }

private:
    std::barrier<> meeting_;
    std::optional<support::allocation_count> count_;
    std::int64_t found_ = -1;
};

struct at_the_window {
    counting_window* window;
    int rank;
    void on_step(const step_report& report) { window->on_step(rank, report); }
    void on_epoch(const epoch_report& report) { window->on_epoch(rank, report); }
};

bool counted() {
    if (!support::allocation_count::works)
        MESSAGE("skipped: allocations are not counted under sanitizers");
    return support::allocation_count::works;
}

/// A model of many tensors of all sizes, so that many transfers are under way at once.
layout many_tensors() {
    layout tensors;
    for (int i = 0; i < 12; ++i) {
        const std::string name = "layer" + std::to_string(i);
        tensors.add(name + ".weight", {4 + 7 * i, 5 + i});
        tensors.add(name + ".bias", {4 + 7 * i}, tensor_kind::bias);
    }
    tensors.add("empty", {0, 2});
    return tensors;
}

template <class Over, class Strategy>
std::int64_t allocations(const Strategy& strategy) {
    counting_window window(world);
    Over::run(world, [&](auto& transport) {
        testing::number_model model(many_tensors());
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
    counting_window window(world);
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
    for (const std::int64_t group_bytes : {0, 300, 1 << 20})
        takes_no_memory(
            all_reduce{sgd{}, sensible<dgc>::options(), collectives::fitting{}, group_bytes});
}

TEST_CASE("clipping by the norm of the model and messages in halves take no memory either") {
    dgc options = sensible<dgc>::options();
    options.clip_norm = 5.0;
    options.clip = clip_scope::per_model;
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
    counting_window window(world);
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
