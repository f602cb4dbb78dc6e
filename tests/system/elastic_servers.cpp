// Parameter servers where ranks come and go, on the simulated network: one thing at a time.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/fault_seeds.hpp"
#include "support/folders.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t rounds = 12;

serving surviving(double patience = 3.0, int servers = 1) {
    return {.servers = servers, .dedicated = true, .survives = true, .patience = patience};
}

template <class Consistency = asynchronous>
auto served_by(const serving& servers, double rate = 0.125, Consistency consistency = {}) {
    return parameter_server{sgd{.learning_rate = rate}, consistency, no_compensation{}, none{},
                            servers};
}

/// Some rounds of each worker.
template <class Strategy, class Then>
void train(simulated& transport, const Strategy& strategy, Then&& then) {
    number_model model;
    trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = 1}};
    trainer.fit(numbered{4 * trainer.state().roles().workers() * rounds}, epochs{1});
    then(trainer);
}

}  // namespace

TEST_CASE("workers that are configured differently are each told how, and the others train") {
    // All three begin at the same moment.
    std::vector<std::string> why(4);
    std::uint64_t steps = 0;
    simulated_options options = usual(3);
    options.slowness = speeds::constant{};
    const auto run = simulate(4, options, [&](simulated& transport) {
        const double rates[] = {0.125, 0.25, 0.5, 0.125};
        const int rank = transport.rank();
        try {
            train(transport, served_by(surviving(), rates[rank]), [&](auto& trainer) {
                if (rank == 0) steps = trainer.state().server()->version();
            });
        } catch (const mismatch& e) {
            why[static_cast<std::size_t>(rank)] = e.what();
        }
    });
    run.require_success();
    for (const auto& [rank, rate] : {std::pair(1, "0.25"), std::pair(2, "0.5")}) {
        const std::string& told = why[static_cast<std::size_t>(rank)];
        CAPTURE(told);
        CHECK(told.starts_with("server 0 refuses this rank: "));
        CHECK(told.find("rank " + std::to_string(rank)) != told.npos);
        CHECK(told.find("strategy.optimizer.learning_rate") != told.npos);
        CHECK(told.find(rate) != told.npos);
    }
    CHECK(why[0].empty());
    CHECK(why[3].empty());
    CHECK(steps == rounds);
}

TEST_CASE("without patience for servers workers still may die") {
    simulated_options options = usual(3);
    options.faults = {network_fault::crash(2, 100ms)};
    std::uint64_t steps = 0;
    const auto run = simulate(4, options, [&](simulated& transport) {
        train(transport, served_by(surviving(0.0)), [&](auto& trainer) {
            if (transport.rank() != 0) return;
            steps = trainer.state().server()->version();
            REQUIRE(trainer.state().losses().size() == 1);
            CHECK(trainer.state().losses().front().rank == 2);
        });
    });
    run.require_success();
    CHECK(steps >= 2 * rounds);

    // And a server's end is an error at once.
    options.faults = {network_fault::crash(0, 100ms)};
    const auto lost = simulate(4, options, [&](simulated& transport) {
        train(transport, served_by(surviving(0.0)), [](auto&) {});
    });
    for (int rank = 1; rank < 4; ++rank) {
        const auto& ending = lost.ranks[static_cast<std::size_t>(rank)];
        REQUIRE(ending.thrown);
        CHECK_THROWS_AS(std::rethrow_exception(ending.thrown), peer_failure);
        CHECK(ending.at < 500ms);
    }
}

TEST_CASE("an order of arrivals where ranks may come and go is followed to the end") {
    // One line is slow, so the first workers have long ended when the last gets its parameters.
    const scratch_folder folder("elastic_arrivals");
    simulated_options options = usual(3);
    options.lines.assign(4, options.line);
    options.lines[3] = {.out = 1e5, .in = 1e5, .latency = 1ms};
    const auto run = [&](const std::string& record, const std::string& replay) {
        serving servers = surviving();
        servers.record_arrivals = folder.path() / record;
        if (!replay.empty()) servers.replay_arrivals = folder.path() / replay;
        std::vector<float> held;
        run_simulated(4, options, [&](simulated& transport) {
            train(transport, served_by(servers), [&](auto& trainer) {
                if (transport.rank() == 0)
                    held.assign(trainer.parameters().begin(), trainer.parameters().end());
            });
        });
        return held;
    };
    const auto text = [&](const std::string& name) {
        std::ifstream in(folder.path() / name, std::ios::binary);
        return std::string{std::istreambuf_iterator<char>(in), {}};
    };
    const auto recorded = run("first", "");
    CHECK(text("first").find("went") == std::string::npos);
    options.slowness = speeds::heavy_tailed{};  // another order, if it were free
    CHECK(run("again", "first") == recorded);
    CHECK(text("again") == text("first"));
}

TEST_CASE("a worker that comes again repeats no round at any of several servers") {
    // Pushes reach one server before the other; the worker is killed somewhere in between.
    for (int at = 0; at < 40; ++at) {
        CAPTURE(at);
        simulated_options options = usual(3);
        options.lines.assign(4, options.line);
        options.lines[0] = {.out = 2e6, .in = 2e5, .latency = 5ms};
        options.faults = {network_fault::crash(2, 100ms + at * 1ms),
                          network_fault::restart(2, 180ms + at * 1ms)};
        std::map<std::tuple<int, int, std::uint64_t>, int> times;  // server, worker, round
        const auto run = simulate(4, options, [&](simulated& transport) {
            train(transport, served_by(surviving(3.0, 2)), [&](auto& trainer) {
                if (const auto* server = trainer.state().server())
                    for (const detail::served_push& p : server->log())
                        ++times[{transport.rank(), p.worker, p.round}];
            });
        });
        run.require_success();
        for (const auto& [push, count] : times) CHECK(count == 1);
        for (int server = 0; server < 2; ++server)  // the last round of both workers
            for (int worker = 0; worker < 2; ++worker)
                CHECK(times.contains({server, worker, rounds - 1}));
    }
}

TEST_CASE("either of two servers that comes again is waited for by workers and by the other") {
    for (const bool dedicated : {true, false})
        for (const int server : {0, 1}) {
            CAPTURE(dedicated);
            CAPTURE(server);
            simulated_options options = usual(3);
            options.faults = {network_fault::crash(server, 100ms),
                              network_fault::restart(server, 130ms)};
            serving servers = surviving(3.0, 2);
            servers.dedicated = dedicated;
            std::vector<std::vector<float>> left(5);
            simulate(5, options, [&](simulated& transport) {
                train(transport, served_by(servers), [&](auto& trainer) {
                    left[static_cast<std::size_t>(transport.rank())].assign(
                        trainer.parameters().begin(), trainer.parameters().end());
                });
            }).require_success();
            for (const auto& held : left) {
                CHECK_FALSE(held.empty());
                CHECK(held == left[0]);
            }
        }
}

TEST_CASE("a server whose workers all failed waits for one, and names the last where none comes") {
    simulated_options options = usual(3);
    options.faults = {network_fault::crash(1, 100ms), network_fault::crash(2, 120ms)};
    const auto ended = [&] {
        std::uint64_t steps = 0;
        detail::simulated_run run = simulate(3, options, [&](simulated& transport) {
            train(transport, served_by(surviving()), [&](auto& trainer) {
                if (transport.rank() == 0) steps = trainer.state().server()->version();
            });
        });
        return std::pair(std::move(run), steps);
    };
    const auto [lost, none] = ended();
    REQUIRE(lost.ranks[0].thrown);
    try {
        std::rethrow_exception(lost.ranks[0].thrown);
    } catch (const peer_failure& e) {
        CHECK(e.rank() == 2);
        CHECK(e.cause() == "it went, the last of the workers, and none came again in time");
    }
    CHECK(lost.ranks[0].at > 3s);

    options.faults.push_back(network_fault::restart(1, 2s));
    const auto [run, steps] = ended();
    CHECK_FALSE(run.ranks[0].thrown);
    CHECK_FALSE(run.ranks[1].thrown);
    CHECK(steps >= rounds);
}

TEST_CASE("what a server forgot when it failed is told by its workers and its next process") {
    for (const bool saves : {false, true}) {
        CAPTURE(saves);
        const scratch_folder folder("forgotten_rounds");
        simulated_options options = usual(3);
        options.faults = {network_fault::crash(0, 200ms), network_fault::restart(0, 400ms)};
        serving servers = surviving();
        if (saves) servers.checkpoints = folder.path();
        servers.every = 1;
        std::int64_t lost = 0, told = 0;
        const auto run = simulate(3, options, [&](simulated& transport) {
            number_model model;
            trainer trainer{model, served_by(servers), transport, {.batch_size = 4, .seed = 1}};
            CHECK(trainer.state().servers_forget() == !saves);
            const fit_report report = trainer.fit(numbered{8 * rounds}, epochs{1});
            if (transport.rank() == 0) {
                REQUIRE(report.served);
                for (const detail::served_worker& w : report.served->workers) told += w.lost;
                return;
            }
            REQUIRE(report.losses.size() == 1);
            CHECK(report.losses.front().rank == 0);
            CHECK_FALSE(report.losses.front().cause.empty());
            lost += report.losses.front().rounds;
        });
        run.require_success();
        CHECK((lost == 0) == saves);
        CHECK(told == lost);
    }
}

TEST_CASE("a server that comes again leaves the order of arrivals of its earlier process") {
    const scratch_folder folder("arrivals_of_processes");
    simulated_options options = usual(3);
    options.faults = {network_fault::crash(0, 200ms), network_fault::restart(0, 400ms)};
    serving servers = surviving();
    servers.record_arrivals = folder.path() / "order";
    simulate(3, options, [&](simulated& transport) {
        train(transport, served_by(servers), [](auto&) {});
    }).require_success();
    for (const char* name : {"order", "order.2"}) {
        CAPTURE(name);
        std::ifstream in(folder.path() / name, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        CHECK(text.starts_with("sotto arrivals 1\n"));
        CHECK(text.find(" gradient ") != text.npos);
        CHECK((text.find(" done ") != text.npos) == (name == std::string("order.2")));
    }
}

TEST_CASE("servers whose lines are of unlike length do not make a worker's rounds wait for ever") {
    // What rank 3 says to rank 0 takes longer than a gradient once it has come again, so that both
    // servers are in rounds of their own.
    for (const duration longer : {20ms, 60ms, 120ms}) {
        CAPTURE(longer / 1ms);
        simulated_options options = usual(1);
        options.slowness = speeds::constant{};
        options.faults = {network_fault::crash(3, 150ms), network_fault::restart(3, 250ms),
                          network_fault::delay(3, 0, 250ms, 100s, longer)};
        std::vector<std::int64_t> steps(4);
        const detail::simulated_run run = simulate(4, options, [&](simulated& transport) {
            number_model model(small_layout());
            trainer trainer{model,
                            served_by(surviving(3.0, 2), 0.125, bulk_synchronous{}),
                            transport,
                            {.batch_size = 1, .seed = 1}};
            trainer.fit(numbered{2 * 40}, epochs{1}, [&](const step_report&) {
                steps[static_cast<std::size_t>(transport.rank())] = trainer.step();
            });
        });
        run.require_success();
        CHECK(steps[2] == 40);
        CHECK(steps[3] == 40);
        CHECK(run.took < 20s);
    }
}
