// For how long ranks of gossip wait for one that lives and says nothing, on the simulated network,
// and what they say then.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/fault_seeds.hpp"
#include "support/numbers.hpp"
#include "support/pulled_apart.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t steps_done = 24;
constexpr duration patience = 3s;

/// How long a rank waited that gave up another one, by its own words.
struct given_up {
    int rank = -1;
    std::string why{};
    duration at{};

    double seconds() const {
        const auto from = why.find("it was late: for ");
        REQUIRE(from != why.npos);
        return std::stod(why.substr(from + 17));
    }
};

auto surviving_on_a_ring() {
    return gossip{sgd{.learning_rate = 0.125},  topologies::ring{},        no_control{}, none{},
                  mixing::adapt_then_combine{}, surviving{.patience = 3.0}};
}

/// Longer than anybody waits; it lives meanwhile.
void hang(simulated& transport) {
    transport.charge({.flops = 1e7});
}

/// Every rank calls `use(trainer)`; whom each gave up.
template <class Use>
std::vector<given_up> run(int ranks, const simulated_options& options, Use use) {
    std::vector<given_up> all(static_cast<std::size_t>(ranks));
    (void)simulate(ranks, options, [&](simulated& transport) {
        pulling_model model(transport.rank());
        const auto strategy = surviving_on_a_ring();
        trainer trainer{model, strategy, transport, {.batch_size = 1}};
        try {
            use(trainer, transport);
        } catch (const peer_failure& e) {
            all[static_cast<std::size_t>(transport.rank())] = {e.rank(), e.what(),
                                                               transport.now().time_since_epoch()};
            throw;
        }
    });
    return all;
}

/// Besides: it looks as often as that.
constexpr double seconds_more = 0.3;

}  // namespace

TEST_CASE(
    "a neighbour that says nothing is given up after the patience, and for how long is told") {
    const simulated_options options = usual(3);
    const auto ended = run(5, options, [](auto& trainer, simulated& transport) {
        trainer.fit(numbered{5 * steps_done}, epochs{1}, [&](const step_report& step) {
            if (transport.rank() == 2 && step.step == 5) hang(transport);
        });
    });
    for (const std::size_t neighbour : {1u, 3u}) {
        CHECK(ended[neighbour].rank == 2);
        CHECK(ended[neighbour].seconds() > 3.0);
        CHECK(ended[neighbour].seconds() < 3.0 + seconds_more);
        CHECK(ended[neighbour].why.find("surviving::patience, 3 s, sets the limit") !=
              std::string::npos);
        CHECK(ended[neighbour].why.find("twice") == std::string::npos);
    }
}

TEST_CASE("whose answer is missing when fit begins is given up after twice the patience") {
    const simulated_options options = usual(3);
    const auto ended = run(4, options, [](auto& trainer, simulated& transport) {
        trainer.fit(numbered{4 * steps_done}, epochs{1});
        if (transport.rank() == 2) hang(transport);
        trainer.fit(numbered{4 * steps_done}, epochs{1});
    });
    for (const std::size_t other : {0u, 1u, 3u}) {
        CAPTURE(other);
        if (ended[other].rank < 0) continue;  // when another one had given up
        CHECK(ended[other].rank == 2);
        CHECK(ended[other].seconds() > 6.0);
        CHECK(ended[other].seconds() < 6.0 + seconds_more);
        CHECK(ended[other].why.find("twice that, as it may have waited itself") !=
              std::string::npos);
    }
    CHECK(ended[0].rank == 2);
}

TEST_CASE("fit ends without a rank of which nothing more comes, and says which and why") {
    std::vector<fit_report> reports(3);
    const auto ended = run(3, usual(3), [&](auto& trainer, simulated& transport) {
        const std::int64_t more = transport.rank() == 2 ? 3 : 0;
        reports[static_cast<std::size_t>(transport.rank())] = trainer.fit(
            local_data{numbered{steps_done + more}}, epochs{1}, [&](const step_report& step) {
                if (step.step == steps_done + 2) hang(transport);
            });
    });
    for (const std::size_t rank : {0u, 1u}) {
        CAPTURE(rank);
        CHECK(ended[rank].rank == -1);
        CHECK(reports[rank].steps == steps_done);
        REQUIRE(reports[rank].losses.size() == 1);
        const detail::rank_loss& loss = reports[rank].losses.front();
        CHECK(loss.rank == 2);
        CHECK(loss.step == steps_done);
        CHECK(loss.cause.starts_with("it was late: for "));
        CHECK(given_up{.why = loss.cause}.seconds() > 6.0);
    }
}

TEST_CASE("gossip: halt of all ranks for longer than patience -> no rank is given up") {
    simulated_options options = usual(3);
    for (int rank = 0; rank < 4; ++rank)
        options.faults.push_back(network_fault::pause(rank, 800ms, 600s));
    std::vector<fit_report> reports(4);
    const auto ended = run(4, options, [&](auto& trainer, simulated& transport) {
        const auto which = static_cast<std::size_t>(transport.rank());
        reports[which] =
            trainer.fit(numbered{4 * steps_done}, epochs{1}, [&](const step_report& step) {
                // Its neighbours wait for it when the halt begins.
                if (transport.rank() == 2 && step.step == 5) transport.charge({.flops = 2e5});
            });
        CHECK(transport.now().time_since_epoch() > 600s);
    });
    for (std::size_t rank = 0; rank < 4; ++rank) {
        CAPTURE(rank);
        CHECK(ended[rank].why == "");
        CHECK(reports[rank].steps == steps_done);
        CHECK(reports[rank].losses.empty());
    }
}

TEST_CASE("who comes again and again keeps nobody waiting for another rank") {
    simulated_options options = usual(3);
    for (duration at = 600ms; at < 20s; at += 400ms) {
        options.faults.push_back(network_fault::crash(5, at));
        options.faults.push_back(network_fault::restart(5, at + 200ms));
    }
    duration hung{};
    const auto ended = run(6, options, [&](auto& trainer, simulated& transport) {
        trainer.fit(numbered{6 * steps_done}, epochs{1}, [&](const step_report& step) {
            if (transport.rank() != 2 || step.step != 5) return;
            hung = transport.now().time_since_epoch();
            hang(transport);
        });
    });
    CHECK(ended[1].rank == 2);
    CHECK(ended[1].at > hung + patience);
    CHECK(ended[1].at < hung + patience + 750ms);
}

TEST_CASE("who comes again while others have ended, and trains on, is waited for") {
    simulated_options options = usual(3);
    for (const duration at : {2s, 3s, 4s}) {
        options.faults.push_back(network_fault::crash(2, at));
        options.faults.push_back(network_fault::restart(2, at + 100ms));
    }
    std::vector<fit_report> reports(4);
    std::vector<duration> ends(4);
    const auto ended = run(4, options, [&](auto& trainer, simulated& transport) {
        const auto me = static_cast<std::size_t>(transport.rank());
        const std::int64_t own = steps_done * (me == 2 ? 20 : me == 3 ? 8 : 1);
        reports[me] = trainer.fit(local_data{numbered{own}}, epochs{1});
        ends[me] = transport.now().time_since_epoch();
    });
    REQUIRE(ends[2] > 4s + 2 * patience);
    for (const std::size_t rank : {0u, 1u, 3u}) {
        CAPTURE(rank);
        CHECK(ended[rank].rank == -1);
        CHECK(ends[rank] > ends[2] - 1s);
        CHECK(reports[rank].losses.size() == 3);
        for (const detail::rank_loss& loss : reports[rank].losses) CHECK(loss.again_step >= 0);
    }
}
