// Mixed faults that seeds draw, while ranks may come and go: a server and its workers, some of
// which die, and some of those come again; some pause or are cut off for longer than it takes to be
// missed. Whatever goes wrong: every call ends by its deadline, also one that fails; what each
// process of a server holds is what it began with, or restored, and what its log leads to from
// there, to the last bit; there each worker's rounds follow each other without gap or repetition;
// after every round a worker remembers what it has not sent; what waits for a rank stays within the
// budget; whom no fault concerned, and who came again while the servers served, has given all its
// gradients and ends with what the servers hold; nothing that was to be called is left, and nothing
// at all where no fault is grave. Some models are long and some budgets small, so that faults fall
// inside messages, announced ones too.
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
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/dynamic_stale_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/stale_synchronous.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/staleness/ada_delay.hpp"
#include "sotto/staleness/delay_compensation.hpp"
#include "sotto/staleness/delay_compensation_adaptive.hpp"
#include "sotto/staleness/gap_aware.hpp"
#include "sotto/staleness/inverse_staleness.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/fault_seeds.hpp"
#include "support/folders.hpp"
#include "support/generators.hpp"
#include "support/numbers.hpp"
#include "support/served_job.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t rounds = 12;

/// Crashes are followed by a restart half of the time; some so soon that what the earlier process
/// sent to the server arrives after the later one has begun.
void let_some_come_again(simulated_options& options, random_stream& random) {
    std::vector<network_fault> again;
    for (const network_fault& f : options.faults) {
        if (f.what != network_fault::kind::crash && f.what != network_fault::kind::power_loss)
            continue;
        if (random.below(2) != 0) continue;
        const bool is_soon = random.below(4) == 0;
        again.push_back(network_fault::restart(
            f.rank, f.at + 1ms * static_cast<std::int64_t>(1 + random.below(is_soon ? 20 : 400))));
        if (is_soon && f.rank != 0)
            again.push_back(network_fault::delay(f.rank, 0, std::max(duration::zero(), f.at - 40ms),
                                                 60ms, 50ms));
    }
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
        } else if (is_grave(f, options)) {
            add_ranks_of(f, others);
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

/// What the slowest gradient takes.
duration slowest_gradient(const simulated_options& options, const layout& tensors) {
    const auto* const one = options.slowness.target<speeds::one_slow>();
    const double factor = one ? one->factor : speeds::uniform{}.high;
    const double operations = 6.0 * static_cast<double>(tensors.size());
    const double seconds = operations / options.machine.flops * factor;
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(seconds));
}

/// By when calls end.
class deadlines {
public:
    deadlines(const simulated_options& options, const layout& tensors, const serving& servers)
        : options_(&options), servers_(&servers), usual_(usual_of(options, tensors)) {
        using seconds = std::chrono::duration<double>;
        // Then a rank gives up that waits for a server in vain: it looks when something happens,
        // and every half of the timeout.
        patient_ = std::chrono::duration_cast<duration>(seconds(servers.patience)) +
                   options.timeout / 2 + options.dead_after + 2 * options.heartbeat;
    }

    /// A round that began then.
    duration of_round(duration began) const {
        duration end = held_up(*options_, began + usual_, usual_);
        for (const network_fault& f : options_->faults) {  // in order of time
            if (f.at > end) continue;
            const bool is_silent = f.is_for_a_while() || f.what == network_fault::kind::power_loss;
            const duration missed = is_silent ? missed_by(f, *options_) : f.at;
            if (f.what == network_fault::kind::restart || is_grave(f, *options_))
                end = std::max(end, missed + usual_);
            if (is_grave(f, *options_))
                end = std::max(end, missed + waits_in_vain(f) * patient_ + 2 * usual_);
        }
        return end;
    }

    /// The whole job. Who comes again begins with its first round; where all workers are gone
    /// servers wait for one.
    duration of_job() const {
        duration last{};
        for (const network_fault& f : options_->faults) last = std::max(last, end_of(f));
        return of_round(last) + (rounds + 2) * usual_ + patient_;
    }

private:
    /// Where nothing goes wrong: its own gradient, one of another that it waits for, and a server's
    /// that works and looks at what came between its tensors, twice where a message is announced.
    static duration usual_of(const simulated_options& options, const layout& tensors) {
        return 3 * slowest_gradient(options, tensors) + std::chrono::milliseconds(50);
    }

    /// How often, one after the other, ranks wait for a server that has given them up, or that is
    /// no more: a server for another one, and all others for that server, once it has failed.
    int waits_in_vain(const network_fault& f) const {
        const bool is_server =
            f.rank < servers_->servers || (f.is_of_connection() && f.peer < servers_->servers);
        const bool ends =
            f.what == network_fault::kind::crash || f.what == network_fault::kind::power_loss;
        return is_server ? servers_->servers : ends ? 0 : 1;
    }

    const simulated_options* options_;
    const serving* servers_;
    duration usual_, patient_{};
};

template <class Strategy>
void check(const Strategy& strategy, int ranks, const layout& tensors,
           const simulated_options& options) {
    using compressor = std::remove_cvref_t<decltype(strategy.compressor)>;
    const serving& servers = strategy.servers;
    const auto run_of = [&](served_job<compressor>& all) {
        // What an earlier run has saved is none of this one's.
        if (!servers.checkpoints.empty()) std::filesystem::remove_all(servers.checkpoints);
        return simulate(ranks, options, [&](simulated& transport) {
            auto& what = all.what[static_cast<std::size_t>(transport.rank())];
            what.clear();
            try {
                train_served(transport, strategy, tensors, rounds, all);
            } catch (const std::exception& e) {
                what = e.what();
                throw;
            }
        });
    };
    served_job<compressor> all(ranks);
    const detail::simulated_run run = run_of(all);
    if (is_repeated(options.seed)) {
        served_job<compressor> again(ranks);
        CHECK(run_of(again).trace_hash == run.trace_hash);
        CHECK(again.left == all.left);
    }
    CHECK(all.broken.empty());
    CHECK(all.queued <= options.budget);
    const std::set<int> culprits = concerned_by(options);
    check_left(run, culprits);
    const int workers = servers.dedicated ? ranks - servers.servers : ranks;
    const auto came_again = only_came_again(options);
    bool is_served = true;      // by all servers, all the time
    bool is_waited_for = true;  // who does not serve comes again while workers have patience
    for (int server = 0; server < servers.servers; ++server) {
        CAPTURE(server);
        CAPTURE(all.what[static_cast<std::size_t>(server)]);
        if (culprits.contains(server)) {
            is_served = false;
            is_waited_for = is_waited_for && came_again.contains(server);
        }
        check_server(all, server, workers, tensors, strategy);
    }
    const deadlines by(options, tensors, servers);
    CHECK(run.took <= by.of_job());
    for (const auto& call : all.calls) {
        CAPTURE(call.rank);
        CAPTURE(in_seconds(call.began));
        CAPTURE(in_seconds(call.ended));
        CAPTURE(all.what[static_cast<std::size_t>(call.rank)]);
        CHECK(call.ended <= by.of_round(call.began));
    }
    // Nothing is lost: what was not sent is remembered.
    if constexpr (std::is_same_v<compressor, sparsified<top_k, residual>>)
        for (auto& w : all.workers) CHECK(residual_of(w, tensors) == w.unsent());
    if (!is_served) {
        // Others may have waited for it in vain, unless it came again.
        for (int rank = 0; rank < ranks && is_waited_for; ++rank) {
            CAPTURE(rank);
            CAPTURE(all.what[static_cast<std::size_t>(rank)]);
            if (!culprits.contains(rank))
                CHECK_FALSE(run.ranks[static_cast<std::size_t>(rank)].thrown);
        }
        return;
    }

    // Where every worker was lost nothing more can be learnt: servers say so.
    const bool all_workers_lost =
        servers.dedicated && culprits.size() == static_cast<std::size_t>(ranks - servers.servers);
    for (int server = 0; server < servers.servers; ++server) {
        const auto which = static_cast<std::size_t>(server);
        if (all_workers_lost && all.left[which].empty()) {
            CHECK(all.what[which].find("the last of the workers") != std::string::npos);
            return;
        }
        REQUIRE_FALSE(all.left[which].empty());
    }
    for (const int rank : all.lost) CHECK(culprits.contains(rank));
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
        CHECK(all.left[static_cast<std::size_t>(rank)] == all.left[0]);
        const int worker = servers.dedicated ? rank - servers.servers : rank;
        if (worker < 0) continue;
        for (const served_process& s : all.servers) {
            if (s.log.empty()) continue;
            const auto last = std::find_if(s.log.rbegin(), s.log.rend(),
                                           [&](const auto& p) { return p.worker == worker; });
            REQUIRE(last != s.log.rend());
            CHECK(last->round + 1 == std::uint64_t{rounds});
        }
    }
}

void check_seed(std::uint64_t seed) {
    random_stream random = random_stream(seed).split("elastic");
    simulated_options options = usual(seed);
    options.machine.flops /= 4;  // of one example a round in place of four
    const auto which = random.below(13);
    const int ranks = number_of_ranks(random);
    options.faults =
        random_faults(random, ranks, number_of_faults(random, 4), 400ms, longest_of(options));
    let_some_come_again(options, random);
    random_stream sizes = random_stream(seed).split("sizes");
    const layout tensors = model_for(sizes, options);
    // Then others may die and come again within a round.
    const int slow = static_cast<int>(sizes.below(static_cast<std::uint64_t>(ranks)));
    if (sizes.below(4) == 0) options.slowness = speeds::one_slow{.rank = slow, .factor = 8.0};
    std::optional<scratch_folder> folder;
    serving by{.dedicated = random.below(2) == 0, .survives = true, .patience = 3.0};
    const bool several = ranks > 3 && random.below(3) == 0;
    if (several) by.servers = 2;
    if (random.below(8) == 0) {
        folder.emplace("elastic_faults");
        by.checkpoints = folder->path() / "kept";
        by.every = 8;
    }
    CAPTURE(tensors.size());
    CAPTURE(seed_note(seed, options));
    CAPTURE(which);
    CAPTURE(ranks);
    CAPTURE(by.dedicated);
    CAPTURE(by.servers);
    CAPTURE(by.checkpoints.empty());
    const sgd plain{.learning_rate = 1.0};
    const no_compensation as_is{};
    const stale_synchronous stale{.bound = 2, .averaged = false};
    const bulk_synchronous bulk{.averaged = false};
    const dynamic_stale_synchronous dynamic{.lowest = 1, .highest = 4, .averaged = false};
    const sparsified largest{top_k{.density = 0.1}, residual{}};
    const dgc deep{.density = 0.1, .momentum = 0.5, .warm_up_epochs = 0.0};
    const int workers = by.dedicated ? ranks - by.servers : ranks;
    const bulk_synchronous without_last{.backups = by.servers == 1 && workers > 1 ? 1 : 0,
                                        .averaged = false};
    switch (which) {
        case 0:
            return check(parameter_server{plain, asynchronous{}, as_is, none{}, by}, ranks, tensors,
                         options);
        case 1:
            return check(parameter_server{plain, stale, as_is, none{}, by}, ranks, tensors,
                         options);
        case 2:
            return check(parameter_server{plain, bulk, as_is, none{}, by}, ranks, tensors, options);
        case 3:
            return check(parameter_server{plain, dynamic, as_is, none{}, by}, ranks, tensors,
                         options);
        case 4:
            return check(parameter_server{plain, without_last, as_is, none{}, by}, ranks, tensors,
                         options);
        case 5:
            return check(parameter_server{plain, asynchronous{}, as_is, largest, by}, ranks,
                         tensors, options);
        case 6:
            return check(parameter_server{plain, without_last, as_is, largest, by}, ranks, tensors,
                         options);
        case 7:
            return check(parameter_server{plain, stale, as_is, deep, by}, ranks, tensors, options);
        // What these make of a gradient depends on when it comes.
        case 8:
            return check(parameter_server{plain, asynchronous{}, inverse_staleness{}, none{}, by},
                         ranks, tensors, options);
        case 9:
            return check(
                parameter_server{plain, stale, delay_compensation{.lambda = 0.001}, none{}, by},
                ranks, tensors, options);
        case 10:
            return check(parameter_server{plain, asynchronous{},
                                          delay_compensation_adaptive{.lambda = 0.001}, none{}, by},
                         ranks, tensors, options);
        case 11:
            return check(parameter_server{plain, stale, gap_aware{}, none{}, by}, ranks, tensors,
                         options);
        default:
            return check(parameter_server{plain, asynchronous{}, ada_delay{}, largest, by}, ranks,
                         tensors, options);
    }
}

}  // namespace

TEST_CASE("random faults: present servers and workers end with all that was sent") {
    for_each_seed(1000, check_seed);
}
