// Mixed faults that seeds draw, while ranks may come and go: a server and its workers, some of
// which die, and some of those come again. Whatever goes wrong: every round ends by its deadline;
// what each process of a server holds is what it began with, or restored, less every message that
// its log names; there each worker's rounds follow each other without gap or repetition; after
// every round a worker remembers what it has not sent; whom no fault concerned, and who came again
// while the servers served, has given all its gradients and ends with what the servers hold. Some
// models are long and some budgets small, so that faults fall inside messages, announced ones too.
//
//   SOTTO_FAULT_SEEDS       how many seeds; 1000
//   SOTTO_FAULT_SEED        the first of them
//   SOTTO_FAULT_SEED_LIMIT  seconds after which one counts as hung; 60

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
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
#include "sotto/consistency/asynchronous.hpp"
#include "sotto/consistency/bulk_synchronous.hpp"
#include "sotto/consistency/dynamic_stale_synchronous.hpp"
#include "sotto/consistency/stale_synchronous.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/staleness/delay_compensation.hpp"
#include "sotto/staleness/inverse_staleness.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/fault_seeds.hpp"
#include "support/folders.hpp"
#include "support/generators.hpp"
#include "support/numbers.hpp"
#include "support/snapshot.hpp"

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

/// Where one rank is slow, what its gradients take.
duration slowest_gradient(const simulated_options& options, const layout& tensors) {
    const auto* const one = options.slowness.target<speeds::one_slow>();
    if (!one) return {};
    const double operations = 6.0 * static_cast<double>(tensors.size());
    const double seconds = operations / options.machine.flops * one->factor;
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(seconds));
}

/// What one process of a worker computed: its gradients, and what it made of them.
template <class Compressor>
class working {
public:
    int worker;
    bool ended = false;  // normally

    working(int of_worker, const Compressor& options, const layout& tensors)
        : worker(of_worker), tensors_(&tensors), compressor_(options.bind(tensors)) {}

    /// Its compressor again, which is told the same.
    void compute(std::int64_t round, double epoch, std::span<const float> gradient) {
        compressing::begin_round(
            compressor_,
            {.step = round, .epoch = epoch, .rank = worker, .world_size = 1, .share = 1.0});
        std::vector<float>& sent = sent_[static_cast<std::uint64_t>(round)];
        sent.assign(gradient.size(), 0.0f);
        bytes message;
        for (const tensor& t : *tensors_) {
            message.clear();
            compressor_.encode(t, t.of(gradient), message);
            compressor_.decode_add(t, message, t.of(std::span<float>(sent)));
        }
        given_.assign(gradient.begin(), gradient.end());
        if (sum_.empty()) sum_.resize(gradient.size());
        last_ = static_cast<std::uint64_t>(round);
    }
    void settle(bool is_dropped) {
        if (is_dropped) return compressing::rollback(compressor_);
        compressing::commit(compressor_);
        for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += given_[i] - sent_[last_][i];
    }

    const std::vector<float>* sent(std::uint64_t round) const {
        const auto found = sent_.find(round);
        return found == sent_.end() ? nullptr : &found->second;
    }
    auto& compressor() noexcept { return compressor_; }
    snapshot remembered() { return snapshot(compressor_); }
    /// Gradients less what was sent of them: what a residual must be.
    const std::vector<float>& unsent() const noexcept { return sum_; }

private:
    const layout* tensors_;
    state_of<Compressor> compressor_;
    std::map<std::uint64_t, std::vector<float>> sent_;
    std::vector<float> given_, sum_;
    std::uint64_t last_ = 0;
};

/// What one process of a server held and did, until it ended or was killed.
struct served {
    int rank = 0;
    bool ended = false;  // normally
    std::vector<float> held;
    std::vector<served_push> log;
    std::uint64_t version = 0;
    std::size_t computed = 0;  // processes of workers by then
};

/// What is known of a job in the end. All its ranks are in this process, one at a time.
template <class Compressor>
struct job {
    std::deque<working<Compressor>> workers;  // processes, in the order in which they began
    std::vector<served> servers;              // in the order in which they ended
    std::vector<float> start;
    std::set<int> lost;                    // says a server
    std::vector<std::vector<float>> left;  // parameters, by rank; empty: it did not end
    std::vector<std::string> what;         // it threw
    std::vector<duration> longest;         // round, by rank
    std::vector<std::string> broken;       // after a round

    explicit job(int ranks)
        : left(static_cast<std::size_t>(ranks)),
          what(static_cast<std::size_t>(ranks)),
          longest(static_cast<std::size_t>(ranks)) {}
};

template <class Strategy, class Job>
void train_on(simulated& transport, const Strategy& strategy, const layout& tensors, Job& all) {
    const auto which = static_cast<std::size_t>(transport.rank());
    number_model model(tensors);
    trainer trainer{model, strategy, transport, {.batch_size = 1, .seed = 1}};
    auto& state = trainer.state();
    const std::int64_t workers = state.roles().workers();
    const std::int64_t examples = workers * rounds;
    all.start.assign(trainer.parameters().begin(), trainer.parameters().end());
    auto* const mine = state.roles().works()
                           ? &all.workers.emplace_back(state.roles().worker_of(transport.rank()),
                                                       strategy.compressor, tensors)
                           : nullptr;
    if (mine)
        model.spoil = [&](std::span<float> gradient) {
            mine->compute(trainer.step(), 0.0, gradient);
        };
    const auto keep = [&](bool ended) {
        const auto* const server = state.server();
        if (!server) return;
        all.servers.push_back({transport.rank(),
                               ended,
                               {server->own().begin(), server->own().end()},
                               {server->log().begin(), server->log().end()},
                               server->version(),
                               all.workers.size()});
    };
    const auto compare = [&] {
        auto& compressor =
            const_cast<std::remove_cvref_t<decltype(state.compressor())>&>(state.compressor());
        if (snapshot(compressor) != mine->remembered())
            all.broken.push_back("rank " + std::to_string(which) +
                                 " remembers something else after " +
                                 std::to_string(trainer.step()) + " rounds");
    };
    time_point began = transport.now();
    try {
        trainer.fit(numbered{examples}, epochs{1}, [&](const step_report& step) {
            mine->settle(step.round.dropped);
            compare();
            all.longest[which] = std::max<duration>(all.longest[which], transport.now() - began);
            began = transport.now();
        });
    } catch (...) {
        keep(false);
        throw;
    }
    keep(true);
    if (mine) mine->ended = true;
    all.left[which].assign(trainer.parameters().begin(), trainer.parameters().end());
    if (state.server())
        for (const rank_loss& change : state.losses()) all.lost.insert(change.rank);
}

/// What a server's process must hold: what it began with and what its log names, in that order.
/// `upto`: only what led to versions up to that one.
template <class Job>
std::vector<float> sum_of(const Job& all, const served& by, std::vector<float> held,
                          std::span<const float> whole, std::uint64_t upto) {
    const auto offset = static_cast<std::size_t>(whole.data() - all.start.data());
    for (const served_push& p : by.log) {
        if (p.applied == 0 || p.applied > upto) continue;
        const std::vector<float>* sent = nullptr;  // by the latest process that computed it
        for (std::size_t k = by.computed; k-- > 0 && !sent;)
            if (all.workers[k].worker == p.worker) sent = all.workers[k].sent(p.round);
        REQUIRE(sent);
        for (std::size_t i = 0; i < held.size(); ++i) held[i] -= (*sent)[offset + i];
    }
    return held;
}

/// Goes through the processes of a server.
template <class Job>
void check_server(const Job& all, int rank, const layout& tensors, const serving& servers) {
    const auto shards = shards_of(tensors, servers.servers);
    const auto part =
        shards[static_cast<std::size_t>(rank)].of(tensors, std::span<const float>(all.start));
    const std::vector<float> start(part.begin(), part.end());
    std::vector<float> base = start;
    const served* before = nullptr;
    for (const served& s : all.servers) {
        if (s.rank != rank) continue;
        std::set<std::uint64_t> steps;
        std::map<int, std::uint64_t> given_by;  // rounds
        for (const served_push& p : s.log) {
            CAPTURE(p.worker);
            if (p.applied != 0) steps.insert(p.applied);
            // What another server had had of a worker that came again is not given anew; and a
            // server that comes again begins in the middle.
            const auto expected = given_by.find(p.worker);
            if (expected != given_by.end() || !before)
                CHECK(p.round >= (expected == given_by.end() ? 0 : expected->second));
            if (servers.servers == 1 && !before)
                CHECK(p.round == (expected == given_by.end() ? 0 : expected->second));
            given_by[p.worker] = p.round + 1;
        }
        const std::uint64_t restored = s.version - steps.size();
        CAPTURE(restored);
        if (servers.checkpoints.empty() || !before) {
            CHECK(restored == 0);
            base = start;
        } else {
            CHECK(restored <= before->version);
            CHECK(before->version - restored < static_cast<std::uint64_t>(servers.every) + 16);
            base = sum_of(all, *before, base, part, restored);
        }
        CHECK(sum_of(all, s, base, part, s.version) == s.held);
        before = &s;
    }
}

/// What a process of a worker has not sent, as its compressor's state shows it.
template <class Working>
std::vector<float> residual_of(Working& w, const layout& tensors) {
    std::vector<float> all(w.unsent().size());
    if (all.empty()) return all;
    w.compressor().visit([&](std::string_view name, auto&& value, kept = kept::alike) {
        if constexpr (std::is_convertible_v<decltype(value), std::span<float>>) {
            const tensor* const t = tensors.find(std::string(name.substr(name.find('/') + 1)));
            REQUIRE(t);
            const std::span<float> part(value);
            std::copy(part.begin(), part.end(), t->of(std::span<float>(all)).begin());
        }
    });
    return all;
}

template <bool Replays = true, class Strategy>
void check(const Strategy& strategy, int ranks, const layout& tensors,
           const simulated_options& options) {
    using compressor = std::remove_cvref_t<decltype(strategy.compressor)>;
    const serving& servers = strategy.servers;
    job<compressor> all(ranks);
    const simulated_run run = simulate(ranks, options, [&](simulated& transport) {
        auto& what = all.what[static_cast<std::size_t>(transport.rank())];
        what.clear();
        try {
            train_on(transport, strategy, tensors, all);
        } catch (const std::exception& e) {
            what = e.what();
            throw;
        }
    });
    CHECK(all.broken.empty());
    const std::set<int> culprits = concerned_by(options);
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
        if constexpr (Replays) check_server(all, server, tensors, servers);
    }
    // A worker waits for a server that went, and for one that died unseen; and one whose long
    // message is announced, until a server that works and is slow has looked at it between its own
    // tensors, up to twice.
    const duration longest =
        (is_served ? 2s : 8s) + held_up_by(options) + 2 * slowest_gradient(options, tensors);
    CHECK(run.took < 60s);
    for (int rank = 0; rank < ranks; ++rank) {
        CAPTURE(rank);
        CHECK(all.longest[static_cast<std::size_t>(rank)] < longest);
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
        for (const served& s : all.servers) {
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
    const auto which = random.below(10);
    const int ranks = number_of_ranks(random);
    options.faults = random_faults(random, ranks, number_of_faults(random, 4), 400ms);
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
            return check<false>(
                parameter_server{plain, asynchronous{}, inverse_staleness{}, none{}, by}, ranks,
                tensors, options);
        default:
            return check<false>(
                parameter_server{plain, stale, delay_compensation{.lambda = 0.001}, none{}, by},
                ranks, tensors, options);
    }
}

}  // namespace

TEST_CASE("whatever goes wrong, servers and workers that are there end with what was given") {
    for_each_seed(1000, check_seed);
}
