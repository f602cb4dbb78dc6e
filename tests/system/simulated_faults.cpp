// Mixed faults that seeds draw, over strategies and numbers of ranks; some pause or are cut off for
// longer than it takes to be missed. Whatever goes wrong: every call ends by its deadline; after
// every round each rank holds what a run without faults holds after as many rounds, to the last
// bit, is ahead of the others by no more rounds than its strategy lets it, one where all meet, and
// keeps what waits for it within the budget; survivors blame whom a fault concerned that could be
// noticed before the first word of a failure was everywhere; nothing that was to be called is left;
// where no fault is grave all rounds end, and nothing at all is left.
//
//   SOTTO_FAULT_SEEDS       how many seeds; 1000
//   SOTTO_FAULT_SEED        the first of them
//   SOTTO_FAULT_SEED_LIMIT  seconds after which one counts as hung; 60

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sotto/collectives/all_gather.hpp"
#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/detail/sparse_all_reduce.hpp"
#include "sotto/collectives/halving_doubling.hpp"
#include "sotto/collectives/hierarchical.hpp"
#include "sotto/collectives/ring.hpp"
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/collectives/tree.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/stale_synchronous.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/strategies/gossip/control/fixed_rounds.hpp"
#include "sotto/core/random.hpp"
#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/staleness/delay_compensation_of_rounds.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/strategies/noloco.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/fault_seeds.hpp"
#include "support/snapshot.hpp"
#include "support/training.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t rounds = 12;

/// How many rounds a rank may be ahead of another one where those meet that noloco pairs.
///   math    if b never begins the meeting m, who meets b in m does not end it, nor later ones who
///           meets one that does not; others do
std::int64_t ahead_in_pairs(const noloco& options, int ranks, std::int64_t every) {
    const std::int64_t meetings = rounds / every;
    std::int64_t most = 0;
    for (int behind = 0; behind < ranks; ++behind)
        for (std::int64_t first = 0; first < meetings; ++first) {
            auto pairs = topologies::random_matching{options.seed}.bind(ranks);
            std::set<int> stuck{behind};
            std::int64_t last = first;
            for (; last < meetings; ++last) {
                std::set<int> more = stuck;
                for (const int rank : stuck)
                    for (const auto& other : pairs.matrix(last).into(rank)) more.insert(other.rank);
                stuck = std::move(more);
                if (static_cast<int>(stuck.size()) == ranks) break;
            }
            // It may still be about to end the meeting before; the other is before its last one.
            most = std::max(most, (last - first + 1) * every);
        }
    return std::min(most, rounds);
}

/// What a call takes at most where nothing goes wrong: a gradient; those of others that have to
/// catch up, or before the first one that of a server that also works, and answers only between its
/// tensors; and, without computing, messages and votes.
duration longest_call(const simulated_options& options, std::int64_t spread) {
    return (1 + spread) * slow_gradient(options, 1) + 20ms;
}

/// By when a call that began at a time ends. Besides what faults hold up: ranks that are silent are
/// missed. One that falls silent while others still settle who failed is waited for anew, until it
/// is missed, too; then these settle it without more than messages.
duration ends_by(duration began, const simulated_options& options, std::int64_t spread) {
    const duration longest = longest_call(options, spread);
    duration end = held_up(options, began + longest, longest);
    for (const network_fault& f : options.faults)  // in order of time
        if (f.at <= end && (f.what == network_fault::kind::power_loss ||
                            (f.is_for_a_while() && is_grave(f, options))))
            end = std::max(end, missed_by(f, options) + 20ms);
    return end;
}

/// What a rank holds.
struct holding {
    std::vector<float> parameters;
    snapshot remembered;
    friend bool operator==(const holding&, const holding&) = default;
};

/// How a rank ended.
struct outcome {
    std::int64_t step = 0;
    std::optional<int> blames;
    std::string what;
    bool began = false;               // to train: all ranks had met
    bool works = true;                // no rank that only serves, which has no rounds
    duration late = duration::min();  // a call, to meet, a round, to end, ended so much too late
    std::vector<std::int64_t> other;  // rounds after which it held something else
    std::int64_t ahead = 0;           // rounds, of another that still worked, at most
    std::int64_t queued = 0;          // bytes that waited for it, at most
};

/// Of one example a round: they cost the test more than the rounds do.
exercise work_for(int ranks) {
    exercise work;
    work.batch_size = 1;
    work.examples = ranks * rounds;
    work.length = steps{rounds};
    work.model.pull = 0.25f;
    return work;
}

/// A round takes some 120 ms.
simulated_options options_for(std::uint64_t seed) {
    simulated_options options = usual(seed);
    options.machine.flops /= 4;
    return options;
}

template <class Trainer>
holding held_by(Trainer& trainer) {
    return {{trainer.parameters().begin(), trainer.parameters().end()}, snapshot(trainer.state())};
}

/// What every rank holds after 0, 1, 2, ... rounds when nothing goes wrong. `which`: of strategies
/// of one type.
template <class Strategy>
const std::vector<std::vector<holding>>& undisturbed(const Strategy& strategy, int ranks,
                                                     int which) {
    static std::map<std::pair<int, int>, std::vector<std::vector<holding>>> known;
    auto& of_ranks = known[{ranks, which}];
    if (!of_ranks.empty()) return of_ranks;
    of_ranks.resize(static_cast<std::size_t>(ranks));
    run_simulated(ranks, options_for(0), [&](simulated& transport) {
        const exercise work = work_for(ranks);
        number_model model = work.model;
        trainer trainer{
            model, strategy, transport, {.batch_size = work.batch_size, .seed = work.seed}};
        auto& mine = of_ranks[static_cast<std::size_t>(transport.rank())];
        mine.push_back(held_by(trainer));
        trainer.fit(numbered{work.examples}, work.length,
                    [&](const step_report&) { mine.push_back(held_by(trainer)); });
    });
    return of_ranks;
}

template <class Strategy>
class disturbed {
public:
    detail::simulated_run run;
    std::vector<outcome> of;
    fault_effects effects;

    disturbed(const Strategy& strategy, std::int64_t spread, int ranks,
              const simulated_options& options, int which = 0)
        : of(static_cast<std::size_t>(ranks)),
          effects(options, ranks),
          expected_(&undisturbed(strategy, ranks, which)),
          step_(static_cast<std::size_t>(ranks), 0) {
        const auto work = [&](simulated& transport) {
            const auto watched = effects.watch(transport);
            outcome& mine = of[static_cast<std::size_t>(transport.rank())];
            duration began = transport.now().time_since_epoch();
            const auto ended = [&] {
                if (!mine.works) return;  // whoever only serves has one call for the whole job
                const duration now = transport.now().time_since_epoch();
                mine.late = std::max(mine.late, now - ends_by(began, options, spread));
                began = now;
            };
            try {
                train_on(transport, strategy, mine, ended);
            } catch (const peer_failure& e) {
                ended();
                mine.blames = e.rank();
                mine.what = e.what();
                throw;
            } catch (const std::exception& e) {
                ended();
                mine.what = e.what();
                throw;
            }
        };
        run = simulate(ranks, options, work, std::ref(effects));
    }

private:
    template <class Ended>
    void train_on(simulated& transport, const Strategy& strategy, outcome& mine, Ended ended) {
        const auto rank = static_cast<std::size_t>(transport.rank());
        const exercise work = work_for(transport.size());
        number_model model = work.model;
        trainer trainer{
            model, strategy, transport, {.batch_size = work.batch_size, .seed = work.seed}};
        mine.began = true;
        if constexpr (requires { trainer.state().roles(); })
            mine.works = trainer.state().roles().works();
        if (!mine.works) step_[rank] = rounds;
        ended();
        const auto compare = [&] {
            if (!mine.works) return;
            mine.step = trainer.step();
            const auto& at_step = (*expected_)[rank];
            const auto step = static_cast<std::size_t>(mine.step);
            if (step >= at_step.size() || held_by(trainer) != at_step[step])
                mine.other.push_back(mine.step);
        };
        try {
            trainer.fit(numbered{work.examples}, work.length, [&](const step_report&) {
                ended();
                compare();
                mine.queued = std::max(mine.queued, most_queued(transport));
                step_[rank] = mine.step;
                for (const std::int64_t other : step_)
                    mine.ahead = std::max(mine.ahead, mine.step - other);
            });
        } catch (const peer_failure&) {
            compare();
            throw;
        }
        ended();
        compare();
    }

    const std::vector<std::vector<holding>>* expected_;
    std::vector<std::int64_t> step_;  // of each rank
};

/// `spread`: by how many rounds a rank may be ahead of another one.
template <class Strategy>
void check(const Strategy& strategy, std::int64_t spread, int ranks,
           const simulated_options& options, int which = 0) {
    const disturbed<Strategy> ended(strategy, spread, ranks, options, which);
    const std::set<int> concerned = concerned_by(options);
    std::set<std::int64_t> steps;  // of those that were not themselves concerned
    std::vector<std::optional<int>> blames(static_cast<std::size_t>(ranks));
    std::set<int> survive;
    for (int rank = 0; rank < ranks; ++rank) {
        const auto& ending = ended.run.ranks[static_cast<std::size_t>(rank)];
        const outcome& o = ended.of[static_cast<std::size_t>(rank)];
        CAPTURE(rank);
        CAPTURE(o.what);
        CHECK(o.other.empty());
        CHECK(o.ahead <= spread);
        CHECK(o.late <= 0ns);
        CHECK(o.queued <= options.budget);
        if (ending.killed) continue;
        blames[static_cast<std::size_t>(rank)] = o.blames;
        if (ending.thrown) CHECK(o.blames);
        if (concerned.empty()) {
            CHECK(!ending.thrown);
            CHECK(o.step == (o.works ? rounds : 0));
        }
        if (concerned.contains(rank)) continue;
        survive.insert(rank);
        if (o.began && o.works) steps.insert(o.step);
    }
    CHECK(ended.effects.objections(blames, survive) == "");
    check_left(ended.run, concerned);
    duration end{};
    for (std::int64_t call = 0; call < rounds + 2; ++call) end = ends_by(end, options, spread);
    CHECK(ended.run.took <= end);
    // A server answers one worker before another.
    if (!steps.empty())
        CHECK(*steps.rbegin() - *steps.begin() <= (Strategy::synchronous ? 0 : spread));
    if (is_repeated(options.seed)) {
        const disturbed<Strategy> again(strategy, spread, ranks, options, which);
        CHECK(again.run.trace_hash == ended.run.trace_hash);
    }
}

void check_seed(std::uint64_t seed) {
    random_stream random = random_stream(seed).split("faults");
    simulated_options options = options_for(seed);
    const auto which = random.below(16);
    const int ranks = number_of_ranks(random);
    const std::size_t count = number_of_faults(random, 3);
    options.faults = random_faults(random, ranks, count, 400ms, longest_of(options));
    CAPTURE(which);
    CAPTURE(ranks);
    CAPTURE(seed_note(seed, options));
    const sgd plain{.learning_rate = 0.125};
    const momentum_sgd heavy{.learning_rate = 0.125};
    const dgc deep{.density = 0.1, .momentum = 0.5};
    const sparsified largest{top_k{.density = 0.1}, residual{}};
    const int servers = 1 + (ranks > 3 ? static_cast<int>(seed % 3) : 0);
    const serving by{.servers = servers, .dedicated = seed % 2 == 0};
    const noloco pairs{};
    const auto together = [&](const auto& strategy) { check(strategy, 1, ranks, options); };
    const auto served = [&](const auto& strategy) {
        check(strategy, 1, ranks, options, static_cast<int>(seed % 6));
    };
    switch (which) {
        case 0: return together(all_reduce{plain});
        case 1: return together(all_reduce{plain, deep});
        case 2: return together(all_reduce{heavy, none{}, collectives::ring{}});
        case 3: return together(all_reduce{heavy, none{}, collectives::halving_doubling{}});
        case 4: return together(all_reduce{plain, none{}, collectives::tree{}});
        case 5: return together(all_reduce{heavy, largest, collectives::all_gather{}});
        case 6:
            return together(
                all_reduce{plain, deep, collectives::hierarchical{.ranks_per_host = 3}});
        case 7: return together(all_reduce{heavy, largest, collectives::sparse_reduce_scatter{}});
        case 8:
            return served(
                parameter_server{heavy, bulk_synchronous{}, no_compensation{}, none{}, by});
        case 9:
            return served(parameter_server{plain, bulk_synchronous{}, no_compensation{}, deep, by});
        case 10:
            return served(parameter_server{heavy, stale_synchronous{.bound = 0}, no_compensation{},
                                           largest, by});
        case 11:
            return served(parameter_server{plain, bulk_synchronous{},
                                           delay_compensation_of_rounds{}, none{}, by});
        // A neighbour's neighbour may be one round further: half of a ring away as many.
        case 12: return check(gossip{heavy}, std::max(1, ranks / 2), ranks, options);
        case 13:
            return check(gossip{plain, topologies::ring{}, no_control{}, top_k{.density = 0.1},
                                mixing::choco{}},
                         std::max(1, ranks / 2), ranks, options);
        case 14: return check(local_updates{plain, diloco(), {.every = 3}}, 3, ranks, options);
        default:
            return check(local_updates{heavy, pairs, {.every = 2}}, ahead_in_pairs(pairs, ranks, 2),
                         ranks, options);
    }
}

}  // namespace

TEST_CASE("random faults: calls end and survivors hold whole rounds") {
    for_each_seed(1000, check_seed);
}
