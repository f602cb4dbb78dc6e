// Mixed faults that seeds draw, while ranks may come and go: a server and its workers, some of
// which die, and some of those come again. Whatever goes wrong: every call ends; what the server
// holds is what it began with and every gradient that its log names; there each worker's rounds
// follow each other without gap or repetition; whom no fault concerned, and who came again while
// the server served, has given all its gradients and ends with what the server holds. Some models
// are long and some budgets small, so that faults fall inside messages, announced ones included.
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
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/consistency/asynchronous.hpp"
#include "sotto/consistency/bulk_synchronous.hpp"
#include "sotto/consistency/dynamic_stale_synchronous.hpp"
#include "sotto/consistency/stale_synchronous.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/fault_seeds.hpp"
#include "support/generators.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t rounds = 16;

/// Crashes are followed by a restart half of the time.
void let_some_come_again(simulated_options& options, random_stream& random) {
    std::vector<network_fault> again;
    for (const network_fault& f : options.faults)
        if ((f.what == network_fault::kind::crash || f.what == network_fault::kind::power_loss) &&
            random.below(2) == 0)
            again.push_back(network_fault::restart(
                f.rank, f.at + 1ms * static_cast<std::int64_t>(1 + random.below(400))));
    options.faults.insert(options.faults.end(), again.begin(), again.end());
    std::stable_sort(options.faults.begin(), options.faults.end(),
                     [](const network_fault& a, const network_fault& b) { return a.at < b.at; });
}

/// Who ended and came again, and when for the last time; of ranks of which no other fault was.
std::map<int, duration> only_came_again(const simulated_options& options) {
    std::map<int, duration> came;
    std::set<int> dead, others;
    for (const network_fault& f : options.faults) {
        if (f.what == network_fault::kind::crash || f.what == network_fault::kind::power_loss) {
            dead.insert(f.rank);
        } else if (f.what == network_fault::kind::restart) {
            if (dead.erase(f.rank) > 0) came[f.rank] = f.at;
        } else if (!f.is_harmless(options.dead_after / 2)) {
            others.insert(f.rank);
            if (f.is_of_connection()) others.insert(f.peer);
        }
    }
    std::erase_if(
        came, [&](const auto& c) { return dead.contains(c.first) || others.contains(c.first); });
    return came;
}

/// A model of 4 KB, now and then of 20 KB in many packets, or of 132 KB, which is announced before
/// it is sent. A round takes as long with each.
layout model_for(random_stream& random, simulated_options& options) {
    layout tensors = small_layout();
    const double small = static_cast<double>(tensors.size());
    switch (random.below(32)) {
        case 0:
            tensors.add("long", {32'000});
            options.budget = 65536;
            break;
        case 1:
        case 2:
        case 3:
            tensors.add("long", {4'000});
            options.packet = 2048;
            break;
        default: break;
    }
    options.machine.flops *= static_cast<double>(tensors.size()) / small;
    return tensors;
}

/// What is known of a job in the end. All its ranks are in this process, one at a time.
struct job {
    std::map<std::pair<int, std::uint64_t>, std::vector<float>> given;  // by worker and round
    std::vector<float> start, held;                                     // by the server
    std::vector<served_push> log;
    std::set<int> lost;                    // says the server
    bool served = false;                   // to the end
    std::vector<std::vector<float>> left;  // parameters, by rank; empty: it did not end
    std::vector<std::string> what;         // it threw

    explicit job(int ranks)
        : left(static_cast<std::size_t>(ranks)), what(static_cast<std::size_t>(ranks)) {}
};

template <class Consistency>
void train_on(simulated& transport, const Consistency& consistency, bool dedicated,
              const layout& tensors, job& all) {
    const auto which = static_cast<std::size_t>(transport.rank());
    const parameter_server strategy{
        sgd{.learning_rate = 1.0}, consistency, no_compensation{}, none{},
        serving{.dedicated = dedicated, .survives = true, .patience = 3.0}};
    number_model model(tensors);
    trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = 1}};
    const int worker = trainer.state().roles().worker_of(transport.rank());
    model.spoil = [&](std::span<float> gradient) {
        all.given[{worker, static_cast<std::uint64_t>(trainer.step())}].assign(gradient.begin(),
                                                                               gradient.end());
    };
    if (transport.rank() == 0) {
        all.start.assign(trainer.parameters().begin(), trainer.parameters().end());
        all.lost.clear();
    }
    const std::int64_t workers = trainer.state().roles().workers();
    trainer.fit(numbered{4 * workers * rounds}, epochs{1});
    all.left[which].assign(trainer.parameters().begin(), trainer.parameters().end());
    for (const rank_loss& change : trainer.state().losses())
        if (transport.rank() == 0) all.lost.insert(change.rank);
    if (transport.rank() != 0) return;
    const auto& server = *trainer.state().server();
    all.held.assign(server.own().begin(), server.own().end());
    all.log.assign(server.log().begin(), server.log().end());
    all.served = true;
}

template <class Consistency>
void check(const Consistency& consistency, int ranks, bool dedicated, const layout& tensors,
           const simulated_options& options) {
    job all(ranks);
    const simulated_run run = simulate(ranks, options, [&](simulated& transport) {
        auto& what = all.what[static_cast<std::size_t>(transport.rank())];
        what.clear();
        try {
            train_on(transport, consistency, dedicated, tensors, all);
        } catch (const std::exception& e) {
            what = e.what();
            throw;
        }
    });
    CHECK(run.took < 60s);
    const std::set<int> culprits = concerned_by(options);
    if (culprits.contains(0)) return;  // the server: others may have waited for it in vain

    CAPTURE(all.what[0]);
    if (!all.served && dedicated && culprits.size() + 1 == static_cast<std::size_t>(ranks)) {
        CHECK(all.what[0].find("the last of the workers") != std::string::npos);  // of all of them
        return;
    }
    REQUIRE(all.served);
    for (const int rank : all.lost) CHECK(culprits.contains(rank));
    std::vector<float> sum = all.start;
    std::map<int, std::uint64_t> given_by;  // rounds
    for (const served_push& p : all.log) {
        CAPTURE(p.worker);
        CHECK(p.round == given_by[p.worker]);
        given_by[p.worker] = p.round + 1;
        if (p.applied == 0) continue;
        const auto given = all.given.find({p.worker, p.round});
        REQUIRE(given != all.given.end());
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] -= given->second[i];
    }
    CHECK(sum == all.held);
    const auto came_again = only_came_again(options);
    for (int rank = 0; rank < ranks; ++rank) {
        const auto& ending = run.ranks[static_cast<std::size_t>(rank)];
        CAPTURE(rank);
        CAPTURE(all.what[static_cast<std::size_t>(rank)]);
        if (ending.killed) {
            CHECK(all.lost.contains(rank));
            continue;
        }
        const auto again = came_again.find(rank);
        if (again != came_again.end())
            if (again->second + options.dead_after > run.ranks[0].at) continue;
        if (culprits.contains(rank) && again == came_again.end()) continue;
        CHECK_FALSE(ending.thrown);
        CHECK(all.left[static_cast<std::size_t>(rank)] == all.held);
        const int worker = dedicated ? rank - 1 : rank;
        if (worker >= 0) CHECK(given_by[worker] == std::uint64_t{rounds});
    }
}

void check_seed(std::uint64_t seed) {
    random_stream random = random_stream(seed).split("elastic");
    simulated_options options = usual(seed);
    const auto which = random.below(4);
    const int ranks = 2 + static_cast<int>(random.below(15));
    const bool dedicated = random.below(2) == 0;
    options.faults = random_faults(random, ranks, random.below(5), 700ms);
    let_some_come_again(options, random);
    random_stream sizes = random_stream(seed).split("sizes");
    const layout tensors = model_for(sizes, options);
    // Then others may die and come again within a round.
    const int slow = static_cast<int>(sizes.below(static_cast<std::uint64_t>(ranks)));
    if (sizes.below(4) == 0) options.slowness = speeds::one_slow{.rank = slow, .factor = 8.0};
    CAPTURE(tensors.size());
    CAPTURE(seed_note(seed, options, "system_elastic_faults"));
    CAPTURE(which);
    CAPTURE(ranks);
    CAPTURE(dedicated);
    switch (which) {
        case 0: return check(asynchronous{}, ranks, dedicated, tensors, options);
        case 1:
            return check(stale_synchronous{.bound = 2, .averaged = false}, ranks, dedicated,
                         tensors, options);
        case 2:
            return check(bulk_synchronous{.averaged = false}, ranks, dedicated, tensors, options);
        default:
            return check(dynamic_stale_synchronous{.lowest = 1, .highest = 4, .averaged = false},
                         ranks, dedicated, tensors, options);
    }
}

}  // namespace

TEST_CASE("whatever goes wrong, servers and workers that are there end with what was given") {
    for_each_seed(1000, check_seed);
}
