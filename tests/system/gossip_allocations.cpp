// After the first steps gossip takes no memory on any thread: by every method, over every topology,
// under every controller, measured or not.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sotto/optimizers/adamw.hpp"
#include "sotto/optimizers/clipped.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "support/all_gossip_policies.hpp"
#include "support/all_transports.hpp"
#include "support/counted_apart.hpp"
#include "support/counting_window.hpp"
#include "support/fault_seeds.hpp"
#include "support/numbers.hpp"
#include "support/training.hpp"

using namespace sotto;
using testing::sensible;

namespace {

constexpr std::int64_t epochs_counted = 4;

/// From the end of the fourth step on: slow momentum takes its first mean in it.
template <class Over, class Strategy>
std::int64_t allocations(const Strategy& strategy, int ranks) {
    testing::counting_window window(ranks, epochs_counted, 4);
    Over::run(ranks, [&](auto& transport) {
        testing::number_model model(testing::many_tensors());
        trainer trainer{model, strategy, transport, {.batch_size = 4}};
        trainer.fit(testing::numbered{24 * ranks}, epochs{epochs_counted},
                    testing::at_the_window{&window, transport.rank()});
    });
    return window.found();
}

template <class Strategy>
void takes_no_memory(const Strategy& strategy, int ranks = 4) {
    if (!testing::counted()) return;
    CHECK(allocations<testing::over_in_process>(strategy, ranks) == 0);
}

const sgd plain{.learning_rate = 0.0625};

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("every method mixes without taking memory", M, by_method) {
    // Pairs answer each other while they compute, so that nobody may wait for all.
    if constexpr (!detail::mixing::in_pairs<M>) takes_no_memory(testing::gossip_by<M>(0.0625));
}
TEST_CASE_TEMPLATE_APPLY(by_method, testing::every_mixing_method);

TEST_CASE_TEMPLATE_DEFINE("over every topology ranks mix without taking memory", T, by_topology) {
    takes_no_memory(gossip{plain, sensible<T>::options()}, 6);
}
TEST_CASE_TEMPLATE_APPLY(by_topology, testing::every_topology);

TEST_CASE_TEMPLATE_DEFINE("under every controller ranks mix without taking memory", C,
                          by_controller) {
    takes_no_memory(gossip{plain, topologies::ring{}, sensible<C>::options()});
}
TEST_CASE_TEMPLATE_APPLY(by_controller, testing::every_controller);

TEST_CASE("pairs that mix when they like take no memory, each rank counted by itself") {
    if (!testing::counted()) return;
    std::vector<std::int64_t> found(4, -1);
    run_in_process(4, [&](in_process& transport) {
        testing::number_model model(testing::many_tensors());
        trainer trainer{model,
                        testing::gossip_by<mixing::asynchronous_pairs>(0.0625),
                        transport,
                        {.batch_size = 4}};
        std::optional<support::allocation_count> count;
        // The longest queues of what comes are not known in the first steps.
        trainer.fit(testing::numbered{960}, epochs{epochs_counted}, [&](const step_report& step) {
            if (step.step == 60) count.emplace();
            if (step.step == 240)
                found[static_cast<std::size_t>(transport.rank())] = count->on_this_thread();
        });
    });
    CHECK(found == std::vector<std::int64_t>(4, 0));
}

namespace {

constexpr std::int64_t steps_done = 200;

/// What each rank allocates from a step on, where ranks may come and go: none of the transport's.
template <class Control = no_control, class Mixing = mixing::adapt_then_combine>
std::vector<std::int64_t> allocations_of_survivors(const simulated_options& options,
                                                   std::int64_t from_step, Control control = {},
                                                   Mixing mixing = {}) {
    constexpr int ranks = 5;
    std::vector<std::int64_t> found(ranks, -1);
    (void)simulate(ranks, options, [&](simulated& network) {
        testing::counted_apart transport(network);
        testing::number_model model(testing::many_tensors());
        const gossip strategy{plain, topologies::ring{}, control, none{}, mixing, surviving{}};
        trainer trainer{model, strategy, transport, {.batch_size = 4}};
        std::int64_t before = 0;
        auto& mine = found[static_cast<std::size_t>(transport.rank())];
        trainer.fit(testing::numbered{4 * ranks * steps_done}, epochs{1},
                    [&](const step_report& step) {
                        if (step.step == from_step) before = transport.count();
                        if (step.step == steps_done) mine = transport.count() - before;
                    });
    });
    return found;
}

}  // namespace

TEST_CASE("where ranks may come and go they mix without taking memory") {
    if (!testing::counted()) return;
    const std::vector<std::int64_t> none_at_all(5, 0);
    const simulated_options calm = testing::usual(3);
    CHECK(allocations_of_survivors(calm, 4) == none_at_all);
    CHECK(allocations_of_survivors(calm, 4, fixed_rounds{3}) == none_at_all);
    CHECK(allocations_of_survivors(calm, 4, consensus_control{.rho = 0.05}) == none_at_all);
    CHECK(allocations_of_survivors(calm, 4, no_control{}, mixing::quasi_global_momentum{}) ==
          none_at_all);
}

TEST_CASE("nor do they once they know who died, and who came again") {
    if (!testing::counted()) return;
    using namespace std::chrono_literals;
    simulated_options options = testing::usual(3);
    options.faults = {network_fault::crash(2, 200ms), network_fault::crash(4, 300ms),
                      network_fault::restart(4, 400ms)};
    for (const auto& found :
         {allocations_of_survivors(options, steps_done / 2),
          allocations_of_survivors(options, steps_done / 2, consensus_control{.rho = 0.05})})
        CHECK(found == std::vector<std::int64_t>{0, 0, -1, 0, 0});
}

TEST_CASE("whatever optimizers remember is kept for steps that fail without taking memory") {
    takes_no_memory(gossip{momentum_sgd{}});
    takes_no_memory(gossip{adamw{}});
    takes_no_memory(gossip{clipped<momentum_sgd>{}});
    takes_no_memory(local_updates{adamw{}, diloco(), {.every = 3}});
}

TEST_CASE("distances are measured exactly, over any transport, without taking memory") {
    if (!testing::counted()) return;
    const gossip measured{adamw{}, topologies::ring{},           consensus_control{.rho = 0.05},
                          none{},  mixing::adapt_then_combine{}, {.measure_every = 2}};
    CHECK(allocations<testing::over_in_process>(measured, 4) == 0);
    CHECK(allocations<testing::over_metered>(measured, 4) == 0);
    CHECK(allocations<testing::over_group>(measured, 4) == 0);
    CHECK(allocations<testing::over_group_of_group>(measured, 4) == 0);
}

TEST_CASE("a rank that first measures late, over its weight, has the memory for it") {
    takes_no_memory(
        gossip{plain, topologies::exponential{},
               control_phases{no_control{}, 1.0, fraction_of_maximum{.maxima = {{0.0, 1.0}}}},
               none{}, mixing::push_sum{}});
}

TEST_CASE("ranks that meet rarely take no memory either, by SparseLoCo or by gossip") {
    takes_no_memory(local_updates{plain, sparse_loco(), {.every = 3}});
    takes_no_memory(local_updates{plain, gossip{sgd{.learning_rate = 1.0}}, {.every = 3}});
}
