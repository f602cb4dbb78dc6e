#include "sotto/collectives/all_gather.hpp"
#include "sotto/strategies/parameter_server.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/dynamic_stale_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/stale_synchronous.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/staleness/delay_compensation.hpp"
#include "sotto/staleness/delay_compensation_adaptive.hpp"
#include "sotto/staleness/gap_aware.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "sotto/transports/tcp.hpp"
#include "support/folders.hpp"
#include "support/over_simulated.hpp"
#include "support/over_tcp.hpp"
#include "support/training.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

constexpr sgd plain{.learning_rate = 0.125};

/// Ranks of different speeds.
struct over_uneven {
    template <class F>
    static void run(int size, F f) {
        simulated_options options;
        options.slowness = speeds::exponential{};
        options.machine.flops = 1e6;
        run_simulated(size, options, f);
    }
};

exercise pulled() {
    exercise work;
    work.model.pull = 0.25f;
    return work;
}

}  // namespace

TEST_CASE("one worker is plain SGD, bit for bit, whatever would compensate for delay") {
    const auto expected = train(1, all_reduce{plain}, pulled()).front();
    const auto one = [&](const auto& strategy) {
        return train(1, strategy, pulled()).front().same_parameters(expected);
    };
    CHECK(one(parameter_server{plain}));
    CHECK(one(parameter_server{plain, asynchronous{}, delay_compensation{.lambda = 2.0}}));
    CHECK(one(parameter_server{plain, asynchronous{}, delay_compensation_adaptive{}}));
    CHECK(one(parameter_server{plain, asynchronous{}, gap_aware{}}));
    CHECK(one(parameter_server{plain, bulk_synchronous{}}));
    CHECK(one(parameter_server{plain, stale_synchronous{.bound = 2}}));
}

TEST_CASE("one worker that sends its whole velocity is momentum at the server, vectors too") {
    const dgc all{.density = 1.0, .mask = false, .warm_up_epochs = 0.0};
    const auto sent = train(1, parameter_server{plain, asynchronous{}, no_compensation{}, all});
    const auto at_server = train(1, parameter_server{momentum_sgd{.learning_rate = 0.125}});
    CHECK(sent.front().same_parameters(at_server.front()));
}

TEST_CASE("velocities of all workers add up at a server as they do among ranks, vectors too") {
    const dgc all{.density = 1.0, .momentum = 0.5, .mask = false, .warm_up_epochs = 0.0};
    exercise work;
    work.length = steps{5};  // few enough that no sum is rounded
    const auto served =
        train(4, parameter_server{plain, bulk_synchronous{}, no_compensation{}, all}, work);
    const auto summed = train(4, all_reduce{plain, all}, work);
    const auto gathered = train(4, all_reduce{plain, all, collectives::all_gather{}}, work);
    const auto heavy =
        train(4, all_reduce{momentum_sgd{.learning_rate = 0.125, .momentum = 0.5}}, work);
    CHECK(served.front().same_parameters(summed.front()));
    CHECK(served.front().same_parameters(gathered.front()));
    CHECK(served.front().same_parameters(heavy.front()));
}

TEST_CASE("rounds of bulk synchrony lead where all-reduce leads, on every transport") {
    // Gradients are whole numbers, whose sums are exact in any order.
    const auto expected = train(4, all_reduce{plain});
    const parameter_server strategy{plain, bulk_synchronous{}};
    CHECK(train(4, strategy).front().same_parameters(expected.front()));
    CHECK(train<over_tcp>(4, strategy).front().same_parameters(expected.front()));
    CHECK(train<over_simulated>(4, strategy).front().same_parameters(expected.front()));
    CHECK(train<over_uneven>(4, strategy).front().same_parameters(expected.front()));
}

TEST_CASE("a bound of 0 rounds is bulk synchrony, bit for bit") {
    for (const bool averaged : {true, false}) {
        const parameter_server bulk{momentum_sgd{.learning_rate = 0.01},
                                    bulk_synchronous{.averaged = averaged}};
        const parameter_server bound{momentum_sgd{.learning_rate = 0.01},
                                     stale_synchronous{.bound = 0, .averaged = averaged}};
        const auto a = train<over_uneven>(5, bulk, pulled()), b = train(5, bound, pulled());
        CHECK(agree(a));
        CHECK(a.front().same_parameters(b.front()));
    }
}

TEST_CASE("without lambda delay compensation is asynchronous SGD with the same arrivals") {
    const parameter_server none{plain, asynchronous{}};
    const parameter_server zero{plain, asynchronous{}, delay_compensation{.lambda = 0.0}};
    const parameter_server some{plain, asynchronous{}, delay_compensation{.lambda = 0.001}};
    const auto a = train<over_uneven>(5, none, pulled()), b = train<over_uneven>(5, zero, pulled()),
               c = train<over_uneven>(5, some, pulled());
    CHECK(a.front().same_parameters(b.front()));
    CHECK_FALSE(a.front().same_parameters(c.front()));
    const parameter_server adaptive{plain, asynchronous{},
                                    delay_compensation_adaptive{.lambda = 0.0}};
    CHECK(a.front().same_parameters(train<over_uneven>(5, adaptive, pulled()).front()));
}

TEST_CASE("all ranks end with the same parameters, whoever serves") {
    for (const serving& servers : {serving{}, serving{.dedicated = true}, serving{.servers = 2},
                                   serving{.servers = 3, .dedicated = true}}) {
        const auto left =
            train(4, parameter_server{plain, asynchronous{}, no_compensation{}, none{}, servers},
                  pulled());
        CHECK(agree(left));
        CHECK(left.front().report.steps == (servers.dedicated ? 0 : 12));
    }
}

TEST_CASE("several servers are one server, where all wait for each other") {
    const auto with = [](int servers) {
        return train(4,
                     parameter_server{plain, bulk_synchronous{}, no_compensation{}, none{},
                                      serving{.servers = servers}},
                     pulled());
    };
    const auto one = with(1), three = with(3);
    CHECK(one.front().same_parameters(three.front()));
}

TEST_CASE("nothing is lost: what was applied and what is remembered is what was given") {
    // The gradients do not depend on the parameters, and a rate of 1 makes their sum.
    const sgd sum{.learning_rate = 1.0};
    const exercise work;
    const auto all = train<over_uneven>(3, parameter_server{sum, asynchronous{}}, work);
    std::vector<std::vector<float>> left(3);
    std::vector<float> end;
    over_uneven::run(3, [&](auto& transport) {
        number_model model = work.model;
        const parameter_server strategy{sum, asynchronous{}, no_compensation{},
                                        sparsified{top_k{.density = 0.1}, residual{}}};
        trainer trainer{
            model, strategy, transport, {.batch_size = work.batch_size, .seed = work.seed}};
        trainer.fit(numbered{work.examples}, work.length);
        auto& mine = left[static_cast<std::size_t>(transport.rank())];
        mine.resize(trainer.parameters().size());
        auto& memory = const_cast<std::remove_cvref_t<decltype(trainer.state().compressor())>&>(
            trainer.state().compressor());
        memory.visit([&](std::string_view name, auto&& value, kept = kept::alike) {
            if constexpr (std::is_convertible_v<decltype(value), std::span<float>>) {
                const tensor* const t =
                    trainer.tensors().find(std::string(name.substr(name.find('/') + 1)));
                REQUIRE(t != nullptr);
                const std::span<float> part(value);
                std::copy(part.begin(), part.end(), t->of(std::span(mine)).begin());
            }
        });
        if (transport.rank() == 0)
            end.assign(trainer.parameters().begin(), trainer.parameters().end());
    });
    const auto& given = all.front().parameters;
    REQUIRE(left[0].size() == given.size());
    for (std::size_t i = 0; i < given.size(); ++i)
        CHECK(end[i] - left[0][i] - left[1][i] - left[2][i] == given[i]);
}

TEST_CASE("training goes on in another call of fit") {
    const parameter_server strategy{plain, bulk_synchronous{}};
    std::vector<float> twice;
    over_in_process::run(4, [&](auto& transport) {
        number_model model = pulled().model;
        trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = 1}};
        trainer.fit(numbered{96}, epochs{1});
        trainer.fit(numbered{96}, epochs{1});
        if (transport.rank() == 0)
            twice.assign(trainer.parameters().begin(), trainer.parameters().end());
    });
    CHECK(twice == train(4, strategy, pulled()).front().parameters);
}

TEST_CASE("a server begins where its checkpoint ends, and refuses another job's") {
    const scratch_folder folder("parameter_server");
    const auto run = [&](const auto& optimizer, int servers) {
        const parameter_server strategy{
            optimizer, asynchronous{}, no_compensation{}, none{},
            serving{.servers = servers, .checkpoints = folder.path() / "kept", .every = 5}};
        std::vector<std::uint64_t> versions;
        over_in_process::run(3, [&](auto& transport) {
            number_model model = pulled().model;
            trainer trainer{model, strategy, transport, {.batch_size = 4}};
            const auto left = trainer.fit(numbered{96}, epochs{1});
            CHECK(left.steps == 8);
            if (transport.rank() == 0) versions.push_back(trainer.state().server()->version());
        });
        return versions.at(0);
    };
    CHECK(run(plain, 1) == 24);
    CHECK(run(plain, 1) == 48);
    CHECK_THROWS_AS(run(sgd{.learning_rate = 0.25}, 1), mismatch);
    CHECK_THROWS_AS(run(plain, 2), mismatch);
    CHECK(run(plain, 1) == 72);
}

TEST_CASE("a worker that fails is named at all others, and the server's state is whole") {
    for (const int failing : {0, 2}) {
        std::atomic<int> told = 0;
        CHECK_THROWS_AS(
            over_in_process::run(
                3,
                [&](auto& transport) {
                    number_model model = pulled().model;
                    if (transport.rank() == failing)
                        model.on_progress = [n = 0](int) mutable {
                            if (++n == 20) throw std::domain_error("disk on fire");
                        };
                    try {  // a slow thread may still be on its way to `fit`
                        trainer trainer{
                            model, parameter_server{plain}, transport, {.batch_size = 4}};
                        trainer.fit(numbered{96}, epochs{3});
                    } catch (const peer_failure& e) {
                        CHECK(e.rank() == failing);
                        CHECK(e.cause() == "disk on fire");
                        ++told;
                        throw;
                    }
                }),
            std::domain_error);
        CHECK(told == 2);
    }
}

TEST_CASE("encoding, taking a push and the step have their time on a simulated network") {
    layout tensors;
    tensors.add("w", {64, 128});
    const auto took = [&](const auto& compressor, double bytes_per_second) {
        simulated_options options;
        options.machine = {.flops = 1e15, .bytes = bytes_per_second};
        return in_seconds(simulate(2, options, [&](simulated& transport) {
                              number_model model(tensors);
                              const parameter_server strategy{plain, asynchronous{},
                                                              no_compensation{}, compressor,
                                                              serving{.dedicated = true}};
                              trainer trainer{model, strategy, transport, {.batch_size = 4}};
                              trainer.fit(numbered{40}, epochs{1});
                          }).took);
    };
    constexpr double rounds = 10.0, n = 64.0 * 128.0, slow = 1e6;
    const auto costs = [&](const auto& compressor) {
        return (took(compressor, slow) - took(compressor, 1e15)) * slow / rounds;
    };
    // The gradient weighed and encoded, its message written and read, parameters read and written.
    CHECK(costs(none{}) == doctest::Approx(8.0 * n + 2.0 * 4.0 * n + 8.0 * n).epsilon(0.01));
    // What is remembered is read and written too, and all else is less.
    const double remembered = costs(sparsified{top_k{.density = 0.01}, residual{}});
    CHECK(remembered > 16.0 * n);
    CHECK(remembered < 20.0 * n);
}

TEST_CASE("a worker that comes when the job of its server is over hears so at once") {
    // The server is done after some 0.2 s, evaluates until 5 s, and leaves.
    for (const duration comes : {2s, 6s}) {
        CAPTURE(comes.count());
        simulated_options options;
        options.machine.flops = 2e5;
        options.faults = {network_fault::crash(1, 100ms), network_fault::restart(1, comes)};
        std::string why;
        const detail::simulated_run run = simulate(3, options, [&](simulated& transport) {
            const parameter_server strategy{plain, asynchronous{}, no_compensation{}, none{},
                                            serving{.dedicated = true, .survives = true}};
            number_model model = pulled().model;
            trainer trainer{model, strategy, transport, {.batch_size = 4}};
            try {
                trainer.fit(numbered{96}, epochs{1});
            } catch (const peer_failure& e) {
                CHECK(e.rank() == 0);
                why = e.what();
                throw;
            }
            if (transport.rank() == 0) transport.charge({.flops = 1e6});
        });
        CHECK(why.find("rank 0 failed: it left: its job is over (noticed in phase 'attach'") == 0);
        CHECK(run.first_to_throw == 1);
        CHECK(run.ranks[0].at > 4s);
        CHECK(run.ranks[1].at < std::max<duration>(run.ranks[0].at, comes) + 1s);
    }
}

TEST_CASE("over TCP too a worker that comes again hears that the job of its server is over") {
    tcp_options options{.size = 2, .port = 0, .elastic = true};
    tcp::meeting meeting(options);
    options.rank = 1;
    options.port = meeting.port();
    const auto run = [](tcp& transport) {
        const parameter_server strategy{plain, asynchronous{}, no_compensation{}, none{},
                                        serving{.dedicated = true, .survives = true}};
        number_model model = pulled().model;
        trainer trainer{model, strategy, transport, {.batch_size = 4}};
        trainer.fit(numbered{96}, epochs{1});
    };
    std::atomic<bool> is_back = false;
    int blames = -1;
    std::string cause;
    {
        const std::jthread worker([&] {
            try {
                {
                    tcp transport = tcp::join(options);
                    run(transport);
                }
                tcp transport = tcp::join(options);
                is_back = true;
                run(transport);
            } catch (const peer_failure& e) {
                blames = e.rank();
                cause = e.cause();
            } catch (const std::exception& e) {
                cause = e.what();
            }
            is_back = true;
        });
        tcp transport = meeting.join();
        run(transport);
        while (!is_back) std::this_thread::yield();
    }
    CHECK(blames == 0);
    CHECK(cause == "it left: its job is over");
}

TEST_CASE("a gradient that is no number is found by the worker that has it") {
    CHECK_THROWS_AS(
        over_in_process::run(
            2,
            [&](auto& transport) {
                number_model model;
                if (transport.rank() == 1) model.spoil = [](std::span<float> g) { g[3] = NAN; };
                trainer trainer{model, parameter_server{plain}, transport, {.batch_size = 4}};
                trainer.fit(numbered{96}, epochs{1});
            }),
        non_finite);
}

TEST_CASE("what cannot be is refused when it is bound") {
    const auto bind = [](serving servers) {
        over_in_process::run(2, [&](auto& transport) {
            number_model model;
            trainer trainer{
                model, parameter_server{plain, asynchronous{}, no_compensation{}, none{}, servers},
                transport};
        });
    };
    CHECK_THROWS_WITH_AS(
        bind({.servers = 0}),
        "parameter_server: servers is 0; it must be at least 1 and at most 2, the number of ranks",
        invalid_option);
    CHECK_THROWS_AS(bind({.servers = 3}), invalid_option);
    CHECK_THROWS_WITH_AS(bind({.servers = 2, .dedicated = true}),
                         "parameter_server: dedicated servers on all ranks, which are 2; one at "
                         "least must work",
                         invalid_option);
    CHECK_THROWS_WITH_AS(
        bind({.patience = -1.0}),
        "parameter_server: patience in seconds is -1; it must be at least 0 and at most 1e+09",
        invalid_option);
    CHECK_THROWS_WITH_AS(
        over_in_process::run(3,
                             [&](auto& transport) {
                                 number_model model;
                                 const parameter_server strategy{
                                     plain, bulk_synchronous{.backups = 1}, no_compensation{},
                                     none{}, serving{.servers = 2}};
                                 trainer trainer{model, strategy, transport};
                             }),
        "parameter_server: backup workers with 2 servers, each of which would drop the gradients "
        "of others; 1 is possible",
        invalid_option);
    CHECK_THROWS_AS(bind({.checkpoints = "never_made", .every = 0}), invalid_option);
}
