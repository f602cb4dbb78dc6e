#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "sotto/collectives/ring.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/distillation/soft_cross_entropy.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/codistillation/exchanges/checkpoint_exchange.hpp"
#include "sotto/strategies/codistillation.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/strategies/codistillation/exchanges/prediction_exchange.hpp"
#include "sotto/strategies/codistillation/exchanges/transport_exchange.hpp"
#include "sotto/trainer/trainer.hpp"
#include "support/all_transports.hpp"
#include "support/folders.hpp"
#include "support/over_tcp.hpp"

using namespace sotto;

namespace {

struct left {
    std::vector<float> parameters;
    std::int64_t heard = 0;
    double loss = 0.0;
};

/// Four ranks in two groups; what each has then.
template <class Over, class Strategy>
std::vector<left> train(const Strategy& strategy, std::int64_t count = 20) {
    const auto examples = data::digits(240, random_stream{3});
    std::vector<left> all(4);
    Over::run(4, [&](auto& transport) {
        models::mlp model{784, 8, 10};
        trainer trainer{model, strategy, transport, {.batch_size = 10, .seed = 5}};
        left& mine = all[static_cast<std::size_t>(transport.rank())];
        trainer.fit(examples, steps{count},
                    [&](const step_report& step) { mine.heard += step.round.taught.teachers; });
        mine.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
        mine.loss = trainer.evaluate(examples).loss;
    });
    return all;
}

const momentum_sgd optimizer{.learning_rate = 0.05, .momentum = 0.9};

template <class Strategy>
Strategy some();

template <>
all_reduce<momentum_sgd> some() {
    return {optimizer};
}
template <>
all_reduce<sgd, dgc> some() {
    return all_reduce{sgd{.learning_rate = 0.05}, dgc{.density = 0.05}};
}
template <>
gossip<momentum_sgd> some() {
    return gossip{optimizer, topologies::ring{}};
}
template <>
local_updates<momentum_sgd> some() {
    return local_updates{optimizer};
}
template <>
parameter_server<sgd> some() {
    return parameter_server{sgd{.learning_rate = 0.05}};
}

using strategies_in_step = std::tuple<all_reduce<momentum_sgd>, all_reduce<sgd, dgc>,
                                      gossip<momentum_sgd>, local_updates<momentum_sgd>>;
using every_strategy =
    std::tuple<all_reduce<momentum_sgd>, all_reduce<sgd, dgc>, gossip<momentum_sgd>,
               local_updates<momentum_sgd>, parameter_server<sgd>>;

// A group in a group is as deep as groups go.
using some_transports = std::tuple<testing::over_metered, testing::over_group,
                                   testing::over_simulated, testing::over_tcp>;

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("any strategy trains the groups, which find each other in a folder", S,
                          in_a_folder) {
    const testing::scratch_folder folder("codistillation_contract");
    const auto ranks = train<testing::over_in_process>(
        codistillation{some<S>(), soft_cross_entropy{},
                       checkpoint_exchange{.folder = folder.path(), .in_background = false},
                       codistillation_groups{.every = 4}});
    for (const left& rank : ranks) CHECK(rank.loss < 2.3);
    CHECK(ranks[0].heard + ranks[2].heard > 0);
    CHECK(ranks[0].parameters != ranks[2].parameters);
}
TEST_CASE_TEMPLATE_APPLY(in_a_folder, every_strategy);

TEST_CASE_TEMPLATE_DEFINE("and groups in step over what the ranks talk through", S,
                          over_a_transport) {
    const auto ranks = train<testing::over_in_process>(
        codistillation{some<S>(), soft_cross_entropy{}, transport_exchange{top_k{.density = 0.2}},
                       codistillation_groups{.every = 4}});
    for (const left& rank : ranks) CHECK(rank.loss < 2.3);
    CHECK(ranks[0].heard + ranks[2].heard > 0);
}
TEST_CASE_TEMPLATE_APPLY(over_a_transport, strategies_in_step);

TEST_CASE_TEMPLATE_DEFINE("it makes no difference what predictions go through", Over,
                          transports_agree) {
    const codistillation strategy{some<all_reduce<momentum_sgd>>(), soft_cross_entropy{},
                                  prediction_exchange{}};
    const auto expected = train<testing::over_in_process>(strategy), found = train<Over>(strategy);
    for (std::size_t rank = 0; rank < 4; ++rank) {
        CHECK(found[rank].parameters == expected[rank].parameters);
        CHECK(found[rank].heard == 20);
        CHECK(found[rank].loss == expected[rank].loss);
    }
}
TEST_CASE_TEMPLATE_APPLY(transports_agree, some_transports);

TEST_CASE_TEMPLATE_DEFINE("models go through every transport, and all end together", Over,
                          models_travel) {
    const auto ranks =
        train<Over>(codistillation{some<all_reduce<momentum_sgd>>(), soft_cross_entropy{},
                                   transport_exchange<>{}, codistillation_groups{.every = 2}});
    CHECK(ranks[0].parameters == ranks[1].parameters);
    CHECK(ranks[2].parameters == ranks[3].parameters);
}
TEST_CASE_TEMPLATE_APPLY(models_travel, some_transports);
