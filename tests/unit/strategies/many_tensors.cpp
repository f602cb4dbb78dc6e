// What a round does for each tensor does not grow with the number of tensors. Counted are requests
// that are polled, by a rank whose peer does nothing until all of its gradients are computed.

#include <doctest/doctest.h>

#include <cstdint>
#include <latch>
#include <optional>
#include <string>
#include <thread>

#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/detail/in_process/in_process_hub.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"
#include "support/training.hpp"

using namespace sotto;

namespace {

layout tensors_of(std::int64_t count, std::int64_t size) {
    layout tensors;
    for (std::int64_t i = 0; i < count; ++i)
        tensors.add("layers." + std::to_string(i) + ".weight", {size, 1});
    return tensors;
}

/// An endpoint that counts how often a request was polled.
class polled : public in_process {
public:
    using in_process::in_process;
    std::optional<completion> poll(request r) {
        ++polls;
        return in_process::poll(r);
    }
    std::int64_t polls = 0;
};

/// How often rank 0 polls while it computes the gradients of so many tensors, none of which can
/// arrive meanwhile.
template <class Strategy>
std::int64_t polls_while_computing(std::int64_t tensors, const Strategy& strategy) {
    detail::in_process_hub hub(2, {});
    std::int64_t polls = 0;
    std::latch computed(1);
    const auto train = [&](int rank) {
        polled endpoint(hub, rank);
        testing::number_model model(tensors_of(tensors, 2));
        model.on_progress = [&](int announced) {
            if (rank == 1) return computed.wait();
            if (announced == 0) polls = endpoint.polls;
            if (announced < tensors) return;
            polls = endpoint.polls - polls;
            computed.count_down();
        };
        trainer trainer{model, strategy, endpoint, {.batch_size = 4}};
        trainer.fit(testing::numbered{8}, steps{1});
        endpoint.withdraw();
        hub.leave(rank);
    };
    std::jthread other(train, 1);
    train(0);
    return polls;
}

const all_reduce each_alone{sgd{.learning_rate = 0.5}, none{}, detail::collectives::fitting{}, 0};
const all_reduce of_entries{sgd{.learning_rate = 0.5},
                            sparsified{top_k{.density = 0.5}, residual{}}};

}  // namespace

TEST_CASE("all_reduce: 4,000 tensors in flight -> 200 polls for each while computing") {
    CHECK(polls_while_computing(4000, each_alone) < 4000 * 200);
    CHECK(polls_while_computing(4000, of_entries) < 4000 * 200);
}

TEST_CASE("all_reduce: more tensors in flight than are asked at once -> the same parameters") {
    const auto parameters_by = [](const auto& strategy, testing::announces order) {
        testing::exercise work;
        work.model = testing::number_model(tensors_of(300, 5));
        work.model.order = order;
        const auto ranks = testing::train(3, strategy, work);
        for (const auto& rank : ranks) CHECK(rank.same_parameters(ranks.front()));
        return ranks.front().parameters;
    };
    const auto in_groups = all_reduce{sgd{.learning_rate = 0.5}};
    const auto expected = parameters_by(in_groups, testing::announces::last_to_first);
    for (const auto order : {testing::announces::first_to_last, testing::announces::outside_in,
                             testing::announces::some, testing::announces::none}) {
        CHECK(parameters_by(each_alone, order) == expected);
        CHECK(parameters_by(in_groups, order) == expected);
        CHECK(parameters_by(of_entries, order) ==
              parameters_by(of_entries, testing::announces::last_to_first));
    }
}
