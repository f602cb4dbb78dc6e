// Mixed faults that seeds draw, over strategies and numbers of ranks. Whatever goes wrong: every
// call ends, survivors hold what a run without faults holds after as many rounds, to the last bit,
// and blame whom the fault concerned.
//
//   SOTTO_FAULT_SEEDS  how many seeds; 1000
//   SOTTO_FAULT_SEED   the first of them

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sotto/collectives/hierarchical.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/consistency/bulk_synchronous.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/fault_seeds.hpp"
#include "support/snapshot.hpp"
#include "support/training.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t rounds = 16;

/// What a rank holds.
struct holding {
    std::vector<float> parameters;
    snapshot remembered;
    friend bool operator==(const holding&, const holding&) = default;
};

/// How a rank ended.
struct outcome {
    holding held;
    std::int64_t step = 0;
    std::optional<int> blames;
    std::string what;
    bool began = false;  // to train: all ranks had met
};

exercise work_for(int ranks) {
    exercise work;
    work.examples = 4 * ranks * rounds;
    work.length = steps{rounds};
    work.model.pull = 0.25f;
    return work;
}

template <class Trainer>
holding held_by(Trainer& trainer) {
    return {{trainer.parameters().begin(), trainer.parameters().end()}, snapshot(trainer.state())};
}

/// What every rank holds after 0, 1, 2, ... rounds when nothing goes wrong.
template <class Strategy>
const std::vector<std::vector<holding>>& undisturbed(const Strategy& strategy, int ranks) {
    static std::map<int, std::vector<std::vector<holding>>> known;
    auto& of_ranks = known[ranks];
    if (!of_ranks.empty()) return of_ranks;
    of_ranks.resize(static_cast<std::size_t>(ranks));
    run_simulated(ranks, usual(0), [&](simulated& transport) {
        const exercise work = work_for(ranks);
        number_model model = work.model;
        trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = 1}};
        auto& mine = of_ranks[static_cast<std::size_t>(transport.rank())];
        mine.push_back(held_by(trainer));
        trainer.fit(numbered{work.examples}, work.length,
                    [&](const step_report&) { mine.push_back(held_by(trainer)); });
    });
    return of_ranks;
}

template <class Strategy>
struct disturbed {
    simulated_run run;
    std::vector<outcome> of;

    disturbed(const Strategy& strategy, int ranks, const simulated_options& options)
        : of(static_cast<std::size_t>(ranks)) {
        run = simulate(ranks, options, [&](simulated& transport) {
            outcome& mine = of[static_cast<std::size_t>(transport.rank())];
            try {
                train_on(transport, strategy, mine);
            } catch (const peer_failure& e) {
                mine.blames = e.rank();
                mine.what = e.what();
                throw;
            } catch (const std::exception& e) {
                mine.what = e.what();
                throw;
            }
        });
    }

    static void train_on(simulated& transport, const Strategy& strategy, outcome& mine) {
        const exercise work = work_for(transport.size());
        number_model model = work.model;
        trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = 1}};
        mine.began = true;
        const auto keep = [&] {
            mine.held = held_by(trainer);
            mine.step = trainer.step();
        };
        try {
            trainer.fit(numbered{work.examples}, work.length);
        } catch (const peer_failure&) {
            keep();
            throw;
        }
        keep();
    }
};

template <class Strategy>
void check(const Strategy& strategy, int ranks, const simulated_options& options) {
    const auto& expected = undisturbed(strategy, ranks);
    const disturbed<Strategy> ended(strategy, ranks, options);
    const std::set<int> culprits = concerned_by(options);
    CHECK(ended.run.took < 60s);  // every call ended by its deadline
    for (int rank = 0; rank < ranks; ++rank) {
        const auto& ending = ended.run.ranks[static_cast<std::size_t>(rank)];
        const outcome& o = ended.of[static_cast<std::size_t>(rank)];
        if (ending.killed) continue;
        CAPTURE(rank);
        CAPTURE(o.what);
        if (o.blames) CHECK(culprits.contains(*o.blames));
        if (culprits.empty()) CHECK(!ending.thrown);
        if (ending.thrown) CHECK(o.blames);
        if (!o.began) continue;
        const auto& at_step = expected[static_cast<std::size_t>(rank)];
        REQUIRE(o.step < static_cast<std::int64_t>(at_step.size()));
        CHECK(o.held == at_step[static_cast<std::size_t>(o.step)]);
    }
    // Who was not itself concerned completed the same rounds as all others like it.
    if constexpr (Strategy::synchronous) {
        std::set<std::int64_t> steps_of_others;
        for (int rank = 0; rank < ranks; ++rank)
            if (!ended.run.ranks[static_cast<std::size_t>(rank)].killed &&
                ended.of[static_cast<std::size_t>(rank)].began && !culprits.contains(rank))
                steps_of_others.insert(ended.of[static_cast<std::size_t>(rank)].step);
        CHECK(steps_of_others.size() <= 1);
    }
}

void check_seed(std::uint64_t seed) {
    random_stream random = random_stream(seed).split("faults");
    simulated_options options = usual(seed);
    const auto which = random.below(4);
    const int ranks = 2 + static_cast<int>(random.below(15));
    const std::size_t count = random.below(4);
    options.faults = random_faults(random, ranks, count, 700ms);
    CAPTURE(which);
    CAPTURE(ranks);
    CAPTURE(seed_note(seed, options, "system_simulated_faults"));
    const sgd plain{.learning_rate = 0.125};
    switch (which) {
        case 0: return check(all_reduce{plain}, ranks, options);
        case 1:
            return check(all_reduce{plain, dgc{.density = 0.1, .momentum = 0.5}}, ranks, options);
        case 2:
            return check(
                all_reduce{momentum_sgd{.learning_rate = 0.125}, none{}, collectives::ring{}},
                ranks, options);
        default: return check(parameter_server{plain, bulk_synchronous{}}, ranks, options);
    }
}

}  // namespace

TEST_CASE("whatever goes wrong, calls end and survivors hold whole rounds") {
    for_each_seed(1000, check_seed);
}

TEST_CASE("a run with faults repeats itself") {
    for (std::uint64_t seed = 0; seed < tries<std::uint64_t>(20, 4); ++seed) {
        random_stream random = random_stream(seed).split("faults");
        simulated_options options = usual(seed);
        options.faults = random_faults(random, 4, 3, 700ms);
        const auto hash = [&] {
            return disturbed<decltype(all_reduce{sgd{}})>(all_reduce{sgd{}}, 4, options)
                .run.trace_hash;
        };
        CHECK(hash() == hash());
    }
}
