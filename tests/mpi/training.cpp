// Training gives the same bits between processes that MPI connects as between threads.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mpi/over_mpi.hpp"
#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/broadcast.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/strategies/gossip/mixing/asynchronous_pairs.hpp"
#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/staleness/delay_compensation_adaptive.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/strategies/noloco.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/wire/value_format.hpp"
#include "support/snapshot.hpp"
#include "support/training.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

trained train_digits(auto& transport, const auto& strategy) {
    const auto digits = data::digits(2'000, random_stream{1});
    models::mlp model{784, 512, 10};
    trainer trainer{model, strategy, transport};
    trained left;
    left.report = trainer.fit(digits, epochs{2}, evaluate_on{digits});
    left.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
    left.remembered = snapshot(trainer.state());
    return left;
}

void same_between_threads_and_processes(const auto& strategy) {
    std::vector<trained> threads(static_cast<std::size_t>(world_size()));
    run_in_process(world_size(), [&](in_process& t) {
        threads[static_cast<std::size_t>(t.rank())] = train_digits(t, strategy);
    });
    for (const bool native : {true, false}) {
        const ending how = run_over_mpi(world_size(), {.native_collectives = native}, [&](mpi& t) {
            const trained mine = train_digits(t, strategy);
            const trained& other = threads[static_cast<std::size_t>(t.rank())];
            CHECK(mine.same_state(other));
            CHECK(mine.report.evaluated->loss == other.report.evaluated->loss);
            CHECK(mine.report.total.bytes_received == other.report.total.bytes_received);
        });
        CHECK(how == ending::none);
    }
}

/// What a rank holds after training by a server, which is what the server holds.
std::vector<float> train_by_server(auto& transport, const auto& strategy) {
    const auto digits = data::digits(500, random_stream{1});
    models::mlp model{784, 32, 10};
    trainer trainer{model, strategy, transport};
    trainer.fit(digits, epochs{2});
    return {trainer.parameters().begin(), trainer.parameters().end()};
}

}  // namespace

TEST_CASE("a parameter server in rounds: the same parameters as between threads, bit for bit") {
    const parameter_server strategy{sgd{.learning_rate = 0.1}, bulk_synchronous{}};
    std::vector<float> expected;
    run_in_process(world_size(), [&](in_process& t) {
        const auto held = train_by_server(t, strategy);
        if (t.rank() == 0) expected = held;
    });
    CHECK(run_over_mpi(world_size(), [&](mpi& t) {
              CHECK(train_by_server(t, strategy) == expected);
          }) == ending::none);
}

TEST_CASE("an asynchronous parameter server of its own ends, and all ranks hold what it holds") {
    if (world_size() < 2) return;
    const parameter_server strategy{
        sgd{.learning_rate = 0.1}, asynchronous{}, delay_compensation_adaptive{},
        dgc{.density = 0.01, .warm_up_epochs = 0}, serving{.dedicated = true}};
    CHECK(run_over_mpi(world_size(), [&](mpi& t) {
              auto held = train_by_server(t, strategy);
              auto of_server = held;
              detail::collectives::broadcast<> same(t, static_cast<std::int64_t>(held.size()), 0);
              same.start(std::span<float>(of_server), {40, 0, 0});
              detail::collectives::run(t, same);
              CHECK(held == of_server);
          }) == ending::none);
}

TEST_CASE("quickstart with whole gradients: the same parameters, bit for bit") {
    same_between_threads_and_processes(all_reduce{momentum_sgd{.learning_rate = 0.1}});
}

TEST_CASE("quickstart with Deep Gradient Compression: the same parameters and residuals") {
    same_between_threads_and_processes(
        all_reduce{sgd{.learning_rate = 0.1}, dgc{.density = 0.001,
                                                  .momentum = 0.9,
                                                  .mask_from_sparsity = 0.99,
                                                  .warm_up_epochs = 1,
                                                  .values = wire::value_format::fp16}});
}

TEST_CASE("gossip: the same parameters on every rank, bit for bit") {
    same_between_threads_and_processes(
        gossip{momentum_sgd{.learning_rate = 0.1}, topologies::ring{}, consensus_control{}});
    same_between_threads_and_processes(gossip{sgd{.learning_rate = 0.1}, topologies::ring{},
                                              no_control{}, top_k{.density = 0.01},
                                              mixing::choco{}});
}

TEST_CASE("ranks that meet rarely: the same parameters on every rank, bit for bit") {
    same_between_threads_and_processes(
        local_updates{sgd{.learning_rate = 0.1}, diloco(), {.every = 10}});
    same_between_threads_and_processes(
        local_updates{sgd{.learning_rate = 0.1}, noloco{}, {.every = 10}});
}

TEST_CASE("pairs that mix when they like all end, and their mean is that of all-reduce") {
    // Gradients do not depend on the parameters, and all batches are full.
    const sgd plain{.learning_rate = 0.0625};
    const exercise work{.examples = 32 * world_size(), .batch_size = 4};
    const auto expected = testing::train(world_size(), all_reduce{plain}, work)[0].parameters;
    const gossip strategy{plain, topologies::ring{}, no_control{}, none{},
                          mixing::asynchronous_pairs{}};
    CHECK(run_over_mpi(world_size(), [&](mpi& t) {
              number_model model;
              trainer trainer{model, strategy, t, {.batch_size = work.batch_size, .seed = 1}};
              trainer.fit(numbered{work.examples}, epochs{2});
              std::vector<float> sum(trainer.parameters().begin(), trainer.parameters().end());
              detail::collectives::all_reduce all(t, std::ssize(sum));
              all.start(sum, {40, 1, 0});
              detail::collectives::run(t, all);
              for (std::size_t i = 0; i < sum.size(); ++i)
                  CHECK(sum[i] / static_cast<float>(t.size()) ==
                        doctest::Approx(expected[i]).epsilon(1e-4));
          }) == ending::none);
}
