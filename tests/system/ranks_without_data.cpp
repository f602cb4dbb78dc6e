// Ranks that have no examples of their own, where ranks do not train in step.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/stale_synchronous.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/gossip/mixing/asynchronous_pairs.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/strategies/detail/round_input.hpp"
#include "sotto/topologies/ring.hpp"
#include "support/over_simulated.hpp"
#include "support/training.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

constexpr sgd plain{.learning_rate = 0.0625};

exercise with(std::vector<std::int64_t> own) {
    return {.batch_size = 2, .length = epochs{2}, .own = std::move(own)};
}

template <class Consistency>
auto served_by(const Consistency& consistency, const serving& servers = {}) {
    return parameter_server{plain, consistency, no_compensation{}, none{}, servers};
}

void check_gone_on(const std::vector<trained>& ranks, const std::vector<std::int64_t>& own) {
    CHECK(agree(ranks));
    for (std::size_t rank = 0; rank < own.size(); ++rank)
        CHECK(ranks[rank].report.steps == 2 * ((own[rank] + 1) / 2));
}

}  // namespace

TEST_CASE("parameter server: workers without data -> all end alike") {
    for (const auto& own : {std::vector<std::int64_t>{8, 0}, {0, 8}, {4, 0, 6}, {0, 0, 5}}) {
        CAPTURE(own.size());
        const int world = static_cast<int>(own.size());
        check_gone_on(train(world, served_by(asynchronous{}), with(own)), own);
        check_gone_on(train(world, served_by(bulk_synchronous{}), with(own)), own);
        check_gone_on(train(world, served_by(stale_synchronous{.bound = 1}), with(own)), own);
        check_gone_on(train<over_simulated>(world, served_by(bulk_synchronous{}), with(own)), own);
        const serving each{.servers = world};
        check_gone_on(train(world, served_by(stale_synchronous{.bound = 1}, each), with(own)), own);
    }
}

TEST_CASE("parameter server: last worker without data -> bits as without it") {
    const auto alone = train(2, served_by(bulk_synchronous{}), with({8, 6}));
    const auto beside = train(3, served_by(bulk_synchronous{}), with({8, 6, 0}));
    for (const trained& rank : beside) CHECK(rank.same_parameters(alone[0]));
}

TEST_CASE("parameter server: dedicated, workers without data -> others train") {
    // The first rank serves alone; of the workers one has data.
    const serving dedicated{.dedicated = true};
    for (const bool first : {true, false}) {
        const std::vector<std::int64_t> own =
            first ? std::vector<std::int64_t>{0, 6, 0} : std::vector<std::int64_t>{0, 0, 6};
        const auto ranks = train(3, served_by(asynchronous{}, dedicated), with(own));
        CHECK(agree(ranks));
        for (std::size_t rank = 0; rank < 3; ++rank)
            CHECK(ranks[rank].report.steps == 2 * ((own[rank] + 1) / 2));
    }
}

TEST_CASE("parameter server: worker without data, after all steps -> all end alike") {
    for (const serving& servers : {serving{}, serving{.dedicated = true}}) {
        const int world = servers.dedicated ? 3 : 2;
        std::vector<std::vector<float>> ended(static_cast<std::size_t>(world));
        over_simulated::run(world, [&](simulated& t) {
            number_model model;
            const layout tensors = model.layout();
            auto state = served_by(asynchronous{}, servers).bind(tensors, t);
            std::vector<float> parameters(static_cast<std::size_t>(tensors.size()));
            if (t.rank() == world - 1) t.charge({.flops = 1e11});  // 2 s: the other is done by then
            state.begin(parameters);
            const std::vector<std::int64_t> batch{0, 1};
            for (std::int64_t step = 0; t.rank() == world - 2 && step < 4; ++step) {
                detail::round_input<number_model> job{model, batch, 2, step, 0.0};
                state.round(job, parameters);
            }
            state.finish(parameters);
            ended[static_cast<std::size_t>(t.rank())] = parameters;
        });
        for (const auto& parameters : ended) CHECK(parameters == ended[0]);
        CHECK(ended[0] != std::vector<float>(ended[0].size()));
    }
}

TEST_CASE("parameter server: no data on any rank -> an error on all of them") {
    const auto refused = [](const auto& strategy, std::vector<std::int64_t> own) {
        const auto world = static_cast<int>(own.size());
        CHECK_THROWS_WITH_AS(train(world, strategy, with(std::move(own))),
                             "fit: no rank has any examples to train on", invalid_option);
    };
    refused(served_by(asynchronous{}), {0});
    refused(served_by(asynchronous{}), {0, 0, 0});
    refused(served_by(bulk_synchronous{}), {0, 0});
    refused(served_by(asynchronous{}, {.servers = 2}), {0, 0, 0});
    refused(served_by(asynchronous{}, {.dedicated = true}), {0, 0, 0});
}

TEST_CASE("parameter server: second fit without any data -> error, first stands") {
    run_in_process(2, [&](in_process& transport) {
        number_model model;
        trainer trainer{model, served_by(asynchronous{}), transport, {.batch_size = 2}};
        trainer.fit(local_data{numbered{transport.rank() == 0 ? 4 : 0}}, epochs{1});
        const std::vector<float> before(trainer.parameters().begin(), trainer.parameters().end());
        CHECK_THROWS_WITH_AS(trainer.fit(local_data{numbered{0}}, epochs{1}),
                             "fit: no rank has any examples to train on", invalid_option);
        CHECK(std::vector<float>(trainer.parameters().begin(), trainer.parameters().end()) ==
              before);
    });
}

TEST_CASE("asynchronous pairs: ranks without data -> others train, or an error") {
    const gossip pairs{plain, topologies::ring{}, no_control{}, none{},
                       mixing::asynchronous_pairs{}};
    for (const auto& own : {std::vector<std::int64_t>{8, 0}, {0, 0, 5}, {4, 0, 6}}) {
        const auto ranks = train(static_cast<int>(own.size()), pairs, with(own));
        for (std::size_t rank = 0; rank < own.size(); ++rank)
            CHECK(ranks[rank].report.steps == 2 * ((own[rank] + 1) / 2));
    }
    CHECK_THROWS_WITH_AS(train(3, pairs, with({0, 0, 0})),
                         "fit: no rank has any examples to train on", invalid_option);
}
