// Another number of ranks goes on with a run: what the old ones held apart is shared out so that
// its sum stays, exactly where it is made of integers.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sotto/collectives/hierarchical.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "support/effort.hpp"
#include "support/checkpointed.hpp"

using namespace sotto;
using testing::memory_files;

namespace {

/// What all ranks of a run hold together.
struct holdings {
    std::vector<float> parameters;
    std::map<std::string, std::vector<float>> alike, sums;
    std::map<std::string, std::vector<std::vector<float>>> parts;  // by rank
    std::vector<std::vector<float>> buffers;                       // by rank
    std::int64_t step = 0;
    resume_report resumed{};
};

template <class Trainer>
void collect(holdings& all, Trainer& trainer, testing::remembering_model& model, int rank) {
    if (rank == 0) {
        all.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
        all.step = trainer.step();
    }
    all.buffers[static_cast<std::size_t>(rank)].assign(model.buffers().begin(),
                                                       model.buffers().end());
    trainer.state().visit(
        [&](const std::string& name, std::span<float> values, kept how = kept::alike) {
            const std::vector<float> copy(values.begin(), values.end());
            if (how == kept::alike) {
                all.alike[name] = copy;
                return;
            }
            auto& sum = all.sums[name];
            sum.resize(copy.size());
            for (std::size_t i = 0; i < copy.size(); ++i) sum[i] += copy[i];
            all.parts[name].push_back(copy);
        });
}

/// Trains for some steps in a fresh world, or resumes and trains for none; rank after rank then
/// says what it holds.
template <class Strategy>
holdings run(int world, const Strategy& strategy, memory_files files, bool resumes,
             std::int64_t step_count) {
    holdings all;
    all.buffers.resize(static_cast<std::size_t>(world));
    run_in_process(world, [&](in_process& transport) {
        testing::remembering_model model;
        trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = 7}};
        if (resumes) {
            const auto report = trainer.resume("run", {}, files);
            if (transport.rank() == 0) all.resumed = report;
        } else {
            trainer.fit(testing::numbered{128}, steps{step_count}, checkpoints{"run", {}, files});
        }
        for (int rank = 0; rank < world; ++rank) {
            if (rank == transport.rank()) collect(all, trainer, model, rank);
            transport.agree(true);
        }
    });
    return all;
}

}  // namespace

TEST_CASE("residuals and velocities keep their sums in any other number of ranks, bit for bit") {
    const auto check = [](const auto& strategy) {
        memory_files files;
        const holdings before = run(4, strategy, files, false, 5);
        REQUIRE_FALSE(before.sums.empty());
        double mass = 0.0;
        for (const auto& [name, sum] : before.sums)
            for (const float value : sum) mass += std::abs(value);
        REQUIRE(mass > 0.0);
        for (const int world : {1, 2, 3, 5, 8}) {
            CAPTURE(world);
            const holdings after = run(world, strategy, files, true, 0);
            CHECK(after.resumed.world_size == 4);
            CHECK(after.step == 5);
            CHECK(after.parameters == before.parameters);
            CHECK(after.alike == before.alike);
            CHECK(after.sums == before.sums);
            // Old rank r is with new rank r mod N, others hold nothing.
            for (const auto& [name, parts] : after.parts)
                for (std::size_t rank = 0; rank < parts.size(); ++rank) {
                    std::vector<float> expected(parts[rank].size());
                    for (std::size_t old = rank; old < 4; old += parts.size())
                        for (std::size_t i = 0; i < expected.size(); ++i)
                            expected[i] += before.parts.at(name)[old][i];
                    CHECK(parts[rank] == expected);
                }
            // Buffers are the mean, everywhere.
            for (const auto& buffers : after.buffers)
                for (std::size_t i = 0; i < buffers.size(); ++i)
                    CHECK(buffers[i] == (before.buffers[0][i] + before.buffers[1][i] +
                                         before.buffers[2][i] + before.buffers[3][i]) /
                                            4.0f);
        }
    };
    check(all_reduce{sgd{.learning_rate = 1.0}, sparsified{top_k{.density = 0.125}, residual{}}});
    // With momentum 0.5 halves add up, still exactly.
    check(all_reduce{sgd{.learning_rate = 1.0},
                     dgc{.density = 0.125, .momentum = 0.5, .warm_up_epochs = 0}});
    check(all_reduce{momentum_sgd{.learning_rate = 1.0, .momentum = 0.5},
                     sparsified{top_k{.density = 0.125}, residual{}}});
}

TEST_CASE("in a hierarchy residuals come to first ranks of hosts, which send them") {
    const all_reduce strategy{sgd{.learning_rate = 1.0},
                              sparsified{top_k{.density = 0.125}, residual{}},
                              collectives::hierarchical{.ranks_per_host = 3}};
    memory_files files;
    const holdings before = run(8, strategy, files, false, 5);
    for (const int world : {1, 2, 4, 5, 7, 11}) {
        CAPTURE(world);
        const holdings after = run(world, strategy, files, true, 0);
        CHECK(after.sums == before.sums);
        for (const auto& [name, parts] : after.parts)
            for (std::size_t rank = 0; rank < parts.size(); ++rank)
                if (rank % 3 != 0) CHECK(parts[rank] == std::vector<float>(parts[rank].size()));
    }
}

TEST_CASE("an epoch goes on after the examples that the old ranks had read of it") {
    const all_reduce strategy{sgd{.learning_rate = 0.0625}};
    struct expectation {
        int world;
        std::int64_t steps_left;  // of an epoch of 128 examples of which 3 x 4 x 4 were read
    };
    for (const auto& expected : {expectation{2, 10}, {4, 5}, {8, 3}, {1, 20}}) {
        const int world = expected.world;
        CAPTURE(world);
        memory_files files;
        run(4, strategy, files, false, 3);
        std::int64_t done = 0;
        std::vector<std::int64_t> examples;
        run_in_process(world, [&](in_process& transport) {
            testing::remembering_model model;
            trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = 7}};
            trainer.resume("run", {}, files);
            const auto report = trainer.fit(testing::numbered{128}, epochs{1});
            if (transport.rank() == 0) {
                done = report.steps;
                CHECK(report.epochs == 1);
            }
        });
        CHECK(done == expected.steps_left);
    }
}

TEST_CASE("a run resumed by fewer or more ranks learns as well as the one that was not") {
    if (testing::is_sanitized) {
        MESSAGE("left out under a sanitizer: it trains for minutes");
        return;
    }
    static const auto digits = data::digits(2000, random_stream{1});
    static const auto unseen = data::digits(500, random_stream{2});
    const all_reduce strategy{sgd{.learning_rate = 0.1}, dgc{.density = 0.01, .momentum = 0.9}};
    const auto train = [&](int world, memory_files files, detail::training_length length,
                           std::uint64_t seed = 0) {
        double accuracy = 0.0;
        run_in_process(world, [&](in_process& transport) {
            models::mlp model{784, 32, 10};
            trainer trainer{model, strategy, transport, {.batch_size = 10, .seed = seed}};
            trainer.try_resume("run", {}, files);
            const auto report = trainer.fit(digits, length, checkpoints{"run", {}, files},
                                            evaluate_on{unseen, 100});
            if (transport.rank() == 0) accuracy = report.evaluated->accuracy;
        });
        return accuracy;
    };
    // As many steps, of more or fewer examples each.
    double least = 1.0, most = 0.0;
    for (const std::uint64_t seed : {0u, 1u, 2u}) {
        const double whole = train(4, memory_files{}, steps{2400}, seed);
        least = std::min(least, whole);
        most = std::max(most, whole);
    }
    for (const int world : {2, 8}) {
        CAPTURE(world);
        memory_files files;
        const double half_way = train(4, files, steps{400});
        const double resumed = train(world, files, steps{2400});
        MESSAGE("accuracy of 4 ranks ", least, " to ", most, " over 3 seeds; of 4 and then ", world,
                " ", resumed, ", who took over at ", half_way);
        CHECK(resumed > half_way);
        CHECK(resumed > least - 0.02);
    }
}
