// A round that fails is rolled back exactly once in compressors and mixing methods of every
// strategy.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/strategies/gossip/mixing/adapt_then_combine.hpp"
#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/strategies/gossip/mixing/slow_momentum.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/strategies/noloco.hpp"
#include "sotto/strategies/codistillation/exchanges/transport_exchange.hpp"
#include "sotto/topologies/lazy.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/counted_compressor.hpp"
#include "support/training.hpp"

using namespace sotto;
using testing::counted_compressor, testing::counts, testing::never, testing::number_model,
    testing::numbered;

namespace {

/// Adapt-then-combine by a state that counts. On rank 0 it throws in one step.
struct counted_method {
    counts* of = nullptr;
    std::int64_t fails_in = never;

    struct state {
        counts* of;
        std::int64_t fails_in;
        std::int64_t steps = 0;
        void correct(const tensor&, std::span<const float>, std::span<float>) {
            if (steps == fails_in) throw std::runtime_error("on purpose");
        }
        void commit() noexcept {
            ++of->commits;
            ++steps;
        }
        void rollback() noexcept { ++of->rollbacks; }
    };
    state bind(const layout&) const { return {of, fails_in}; }
};

/// Two ranks, of which rank 0 fails in its third round. Both roll it back once. Rank 1 may fail in
/// the round before: what rank 0 had sent may be withdrawn.
template <class MakeStrategy>
void rolls_back_once(MakeStrategy make) {
    std::vector<counts> found(2);
    const auto train = [&](auto& transport) {
        number_model model;
        const auto strategy =
            make(&found[static_cast<std::size_t>(transport.rank())], transport.rank());
        trainer trainer{model, strategy, transport, {.batch_size = 4}};
        trainer.fit(numbered{200}, epochs{1});
    };
    CHECK_THROWS_WITH_AS(run_in_process(2, train), "on purpose", std::runtime_error);
    CHECK(found[0].commits == 2);
    CHECK(found[0].rollbacks == 1);
    CHECK(found[1].rollbacks == 1);
}

const topologies::lazy links{topologies::ring{}};

}  // namespace

TEST_CASE("all_reduce: a round fails -> its compressor is rolled back once") {
    rolls_back_once([](counts* of, int) { return all_reduce{sgd{}, counted_compressor{of, 2}}; });
}

TEST_CASE("gossip by choco: a round fails -> its compressor is rolled back once") {
    rolls_back_once([](counts* of, int) {
        return gossip{sgd{}, links, no_control{}, counted_compressor{of, 2},
                      mixing::choco{.step = 0.25}};
    });
}

TEST_CASE("gossip: a step fails -> its mixing method is rolled back once") {
    const auto fails = [](int rank) { return rank == 0 ? 2 : never; };
    rolls_back_once([&](counts* of, int rank) {
        return gossip{sgd{}, links, no_control{}, none{}, counted_method{of, fails(rank)}};
    });
    rolls_back_once([&](counts* of, int rank) {
        return gossip{sgd{}, links, no_control{}, none{},
                      mixing::slow_momentum{counted_method{of, fails(rank)}, 10}};
    });
}

TEST_CASE("noloco: a meeting fails -> its compressor is rolled back once") {
    rolls_back_once([](counts* of, int) {
        return local_updates{
            sgd{}, compressed_pairs{counted_compressor{of, 2}, noloco{}}, {.every = 1}};
    });
}

TEST_CASE("parameter_server: a round fails -> its compressor is rolled back once") {
    rolls_back_once([](counts* of, int rank) {
        return parameter_server{sgd{}, bulk_synchronous{}, no_compensation{},
                                counted_compressor{of, rank == 0 ? 2 : never}};
    });
}

TEST_CASE("parameter_server: a gradient is dropped -> its compressor is rolled back once") {
    std::vector<counts> found(3), reported(3);
    simulated_options network;
    network.slowness = speeds::exponential{};
    network.machine.flops = 1e6;
    run_simulated(3, network, [&](auto& transport) {
        const auto own = static_cast<std::size_t>(transport.rank());
        number_model model;
        const parameter_server strategy{sgd{}, bulk_synchronous{.backups = 1}, no_compensation{},
                                        counted_compressor{&found[own]}};
        trainer trainer{model, strategy, transport, {.batch_size = 4}};
        trainer.fit(numbered{240}, epochs{1}, [&](const step_report& step) {
            ++(step.round.dropped ? reported[own].rollbacks : reported[own].commits);
        });
    });
    CHECK(found == reported);
    std::int64_t dropped = 0;
    for (const counts& each : reported) dropped += each.rollbacks;
    CHECK(dropped > 0);
}

TEST_CASE("transport_exchange: a model is not sent -> its compressor is rolled back once") {
    const layout tensors = layout().add("weights", {6, 5});
    std::vector<counts> found(2);
    run_in_process(2, [&](auto& world) {
        const int own = world.rank();
        auto exchange =
            transport_exchange{counted_compressor{&found[static_cast<std::size_t>(own)]}}.bind(
                detail::meeting_place{{own, 2}, {1 - own}, {1 - own}, tensors, world, {0, 1}});
        exchange.begin(0);
        const detail::checkpoint::architecture kind{tensors, layout(), "a model"};
        const auto publish = [&](float value) {
            const std::vector<float> parameters(30, value);
            exchange.publish(kind, {.architecture = kind.identity()}, parameters, {},
                             std::array{1});
        };
        std::byte next{};
        if (own == 0) {
            for (const float value : {1.0f, 2.0f, std::numeric_limits<float>::quiet_NaN(), 3.0f}) {
                publish(value);
                CHECK(exchange.problem().empty() == !std::isnan(value));
                if (!std::isnan(value)) world.wait(world.receive(1, {16, 0, 0}, {&next, 1}));
            }
        } else {
            for (int models = 0; models < 3; ++models) {
                while (!exchange.look(kind, 0, models)) {}
                world.wait(world.send(0, {16, 0, 0}, {&next, 1}));
            }
        }
        exchange.finish([] {});
    });
    CHECK(found[0] == counts{2, 1});  // the first one is whole
    CHECK(found[1] == counts{});
}
