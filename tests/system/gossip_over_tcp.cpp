// Gossip and local updates over TCP give the same bits as between threads.

#include <doctest/doctest.h>

#include <cstddef>

#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/strategies/gossip/mixing/asynchronous_pairs.hpp"
#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/strategies/gossip/mixing/gradient_tracking.hpp"
#include "sotto/strategies/gossip/mixing/push_sum.hpp"
#include "sotto/optimizers/adamw.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "sotto/strategies/noloco.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/topologies/ring.hpp"
#include "support/over_tcp.hpp"
#include "support/training.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

template <class Strategy>
void same_over_tcp(const Strategy& strategy) {
    constexpr int ranks = 4;
    const auto expected = train(ranks, strategy), found = train<over_tcp>(ranks, strategy);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        CAPTURE(rank);
        CHECK(found[rank].same_state(expected[rank]));
        CHECK(found[rank].report.loss == expected[rank].report.loss);
    }
}

}  // namespace

TEST_CASE("gossip over TCP: the same bits on every rank as between threads") {
    const sgd plain{.learning_rate = 0.0625};
    same_over_tcp(gossip{momentum_sgd{}, topologies::ring{}, consensus_control{}});
    same_over_tcp(gossip{plain, topologies::random_matching{}, fixed_rounds{2}});
    same_over_tcp(gossip{plain, topologies::ring{}, no_control{}, top_k{.density = 0.1},
                         mixing::choco{.step = 0.2}});
    same_over_tcp(
        gossip{plain, topologies::exponential{}, no_control{}, none{}, mixing::push_sum{}});
    same_over_tcp(
        gossip{plain, topologies::ring{}, no_control{}, none{}, mixing::gradient_tracking{}});
}

TEST_CASE("local updates over TCP: the same bits on every rank as between threads") {
    same_over_tcp(local_updates{adamw{}, diloco(), {.every = 4}});
    same_over_tcp(local_updates{sgd{}, sparse_loco(), {.every = 4}});
    same_over_tcp(local_updates{sgd{}, noloco{}, {.every = 4}});
    same_over_tcp(local_updates{
        sgd{}, compressed_pairs{error_feedback{top_k{.density = 0.1}}}, {.every = 4}});
}

TEST_CASE("pairs that mix when they like end over TCP, and their mean is that of all-reduce") {
    // Gradients do not depend on the parameters.
    const sgd plain{.learning_rate = 0.0625};
    const exercise work{.examples = 128, .batch_size = 4};
    const auto expected = train(4, all_reduce{plain}, work)[0].parameters;
    const auto found = train<over_tcp>(
        4, gossip{plain, topologies::ring{}, no_control{}, none{}, mixing::asynchronous_pairs{}},
        work);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        double mean = 0.0;
        for (const trained& rank : found) mean += double{rank.parameters[i]} / 4.0;
        CHECK(mean == doctest::Approx(expected[i]).epsilon(1e-4));
    }
}
