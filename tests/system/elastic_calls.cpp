// Programs of gossip that call `fit` more than once, on the simulated network, where ranks are lost
// and come again: a rank that does goes on in the call that the others are in, and passes those
// before it.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/effort.hpp"
#include "support/fault_seeds.hpp"
#include "support/numbers.hpp"
#include "support/pulled_apart.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

constexpr int ranks = 5;
constexpr std::array<std::int64_t, 3> steps_of_calls{8, 24, 12};  // a step takes some 40 ms
constexpr std::int64_t steps_of_all = 44;

template <class Control = no_control>
auto surviving_by(Control control = {}) {
    return gossip{sgd{.learning_rate = 0.125},  topologies::ring{},        control, none{},
                  mixing::adapt_then_combine{}, surviving{.patience = 3.0}};
}

/// What the last process of a rank did in one call of `fit`.
struct call {
    std::int64_t steps = 0;
    std::optional<step_report> first{};
    bool over = false, evaluated = false;
    std::vector<float> left{};     // parameters
    std::set<std::size_t> with{};  // calls that others were in when it took its steps
};

struct program {
    detail::simulated_run run;
    std::vector<std::vector<call>> calls;  // of each rank
    std::vector<std::int64_t> steps;       // in all, by its trainer
    duration longest{};                    // between two steps, or calls

    const call& of(int rank, std::size_t number) const {
        return calls[static_cast<std::size_t>(rank)][number];
    }
};

/// What else a program does.
struct habits {
    detail::training_length length = epochs{1};  // of its first call
    std::int64_t stops_after = 0;  // epochs, where a verdict ends that one; 0: none does
    std::function<void(simulated&, std::size_t, const call&)> after_call{};
};

/// Every rank goes through three calls, of other data each.
template <class Strategy>
program run_calls(const Strategy& strategy, const simulated_options& options,
                  const habits& also = {}) {
    program all;
    all.calls.resize(ranks);
    all.steps.resize(ranks);
    std::vector<std::size_t> in_flight(ranks);
    all.run = simulate(ranks, options, [&](simulated& transport) {
        const auto me = static_cast<std::size_t>(transport.rank());
        auto& mine = all.calls[me];
        mine.assign(steps_of_calls.size(), {});
        pulling_model model(transport.rank());
        trainer trainer{model, strategy, transport, {.batch_size = 1, .seed = 1}};
        time_point last = transport.now();
        const auto note_time = [&] {
            all.longest = std::max(all.longest, transport.now() - last);
            last = transport.now();
        };
        struct listener {
            call* now;
            void on_begin(const run_info& info) const { now->over = info.over; }
        };
        for (std::size_t c = 0; c < steps_of_calls.size(); ++c) {
            in_flight[me] = c;
            const auto on_step = [&](const step_report& step) {
                note_time();
                if (!mine[c].first) mine[c].first = step;
                for (std::size_t other = 0; other < ranks; ++other)
                    if (other != me) mine[c].with.insert(in_flight[other]);
            };
            const auto on_epoch = [&](const epoch_report& report) {
                return c == 0 && report.epoch == also.stops_after ? fit_control::stop
                                                                  : fit_control::keep_going;
            };
            const numbered data{ranks * steps_of_calls[c], 1000 * static_cast<std::int64_t>(c)};
            const fit_report report =
                trainer.fit(data, c == 0 ? also.length : detail::training_length(epochs{1}),
                            on_step, on_epoch, listener{&mine[c]}, evaluate_on{numbered{4}});
            note_time();
            mine[c].steps = report.steps;
            mine[c].evaluated = report.evaluated.has_value();
            mine[c].left.assign(trainer.parameters().begin(), trainer.parameters().end());
            if (also.after_call) also.after_call(transport, c, mine[c]);
        }
        all.steps[me] = trainer.step();
    });
    return all;
}

simulated_options dies_and_returns(int victim, duration at, duration after = 60ms) {
    simulated_options options = usual(static_cast<std::uint64_t>(at / 1ms));
    options.faults = {network_fault::crash(victim, at), network_fault::restart(victim, at + after)};
    return options;
}

/// When a rank of an undisturbed run is in the middle of its call.
template <class Strategy>
duration middle_of(std::size_t number, const Strategy& strategy) {
    const duration whole = run_calls(strategy, usual(1)).run.took;
    std::int64_t before = 0;
    for (std::size_t c = 0; c < number; ++c) before += steps_of_calls[c];
    return whole * (2 * before + steps_of_calls[number]) / (2 * steps_of_all);
}

}  // namespace

TEST_CASE("a rank that comes again in a later call of fit goes on in it, and passes those before") {
    const auto check = [](const auto& strategy) {
        for (const std::size_t number : {1u, 2u}) {
            CAPTURE(number);
            const duration middle = middle_of(number, strategy);
            for (int victim = 0; victim < ranks; ++victim) {
                CAPTURE(victim);
                const program ended =
                    run_calls(strategy, dies_and_returns(victim, middle - 40ms * victim));
                ended.run.require_success();
                CHECK(ended.longest < 800ms);
                for (std::size_t c = 0; c < steps_of_calls.size(); ++c) {
                    CAPTURE(c);
                    const call& own = ended.of(victim, c);
                    CHECK(own.over == (c < number));
                    CHECK(own.evaluated);
                    if (c < number) {
                        CHECK(own.steps == 0);
                        CHECK(own.left != std::vector<float>(own.left.size()));  // what was fetched
                        continue;
                    }
                    CHECK(own.with == std::set{c});
                    REQUIRE(own.first.has_value());
                    if (c > number) {
                        CHECK(own.steps == steps_of_calls[c]);
                        continue;
                    }
                    CHECK(own.steps > 0);
                    CHECK(own.steps < steps_of_calls[c] - 2);
                    CHECK(own.first->epoch > static_cast<double>(c));
                    CHECK(own.first->epoch < static_cast<double>(c + 1));
                }
                for (const std::int64_t steps : ended.steps) CHECK(steps == steps_of_all);
            }
        }
    };
    check(surviving_by());
    check(surviving_by(consensus_control{.rho = 0.5}));
}

TEST_CASE("whenever a rank dies and comes again, all ranks end all their calls together") {
    const program undisturbed = run_calls(surviving_by(), usual(1));
    undisturbed.run.require_success();
    for (int at = 0; at < 40; at += testing::tries(1, 9)) {
        CAPTURE(at);
        const duration dies = 1ms + undisturbed.run.took * at / 40;
        const program ended =
            run_calls(surviving_by(), dies_and_returns(at % ranks, dies, 5ms + (at % 7) * 20ms));
        ended.run.require_success();
        CHECK(ended.longest < 800ms);
        for (const std::int64_t steps : ended.steps) CHECK(steps == steps_of_all);
    }
}

TEST_CASE("a call that verdicts of the others have ended is passed by as many epochs as they did") {
    const habits stopped{.length = epochs{std::numeric_limits<std::int64_t>::max()},
                         .stops_after = 2};
    const program undisturbed = run_calls(surviving_by(), usual(1), stopped);
    const std::int64_t steps = steps_of_all + steps_of_calls[0];
    for (const std::int64_t each : undisturbed.steps) CHECK(each == steps);
    const duration middle = undisturbed.run.took * 28 / steps;
    const program ended = run_calls(surviving_by(), dies_and_returns(2, middle), stopped);
    ended.run.require_success();
    CHECK(ended.of(2, 0).over);
    REQUIRE(ended.of(2, 1).first.has_value());
    CHECK(ended.of(2, 1).first->epoch > 2.0);
    CHECK(ended.of(2, 1).first->epoch < 3.0);
    for (const std::int64_t each : ended.steps) CHECK(each == steps);
}

TEST_CASE("whoever is the last one goes on alone where those were whose parameters it took") {
    const duration middle = middle_of(1, surviving_by());
    simulated_options options = dies_and_returns(2, middle);
    for (const int other : {0, 1, 3, 4})
        options.faults.push_back(network_fault::crash(other, middle + 400ms));
    const auto wait = [](simulated& transport, std::size_t number, const call& passed) {
        if (transport.rank() == 2 && number == 0 && passed.over) transport.charge({.flops = 2e5});
    };
    const program ended = run_calls(surviving_by(), options, {.after_call = wait});
    CHECK_FALSE(ended.run.ranks[2].thrown);
    CHECK(ended.of(2, 0).over);
    CHECK(ended.of(2, 1).steps > 0);
    CHECK(ended.of(2, 1).steps < steps_of_calls[1] - 2);
    CHECK(ended.steps[2] == steps_of_all);
}
