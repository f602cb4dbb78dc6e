// A run by gossip or local updates that ends anywhere and is started again ends as the run that was
// never interrupted, bit for bit: each rank's parameters, buffers, optimizer and what it remembers
// of others.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/compressors/chunked_top_k.hpp"
#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/random_k.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/optimizers/adamw.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "sotto/strategies/noloco.hpp"
#include "support/all_gossip_policies.hpp"
#include "support/checkpointed.hpp"

using namespace sotto;
using testing::memory_files, testing::run_with_checkpoints, testing::sensible;

namespace {

/// After any of these steps: 6 are an epoch of 3 ranks.
template <class Strategy>
void resumes_exactly(const Strategy& strategy) {
    const auto whole = run_with_checkpoints(3, strategy, memory_files{});
    CHECK(whole[0].report.steps == 12);
    for (const std::int64_t step : {2, 6, 7, 11}) {
        CAPTURE(step);
        memory_files files;
        run_with_checkpoints(3, strategy, files, {.after_step = step});
        const auto resumed = run_with_checkpoints(3, strategy, files);
        CHECK(resumed[0].resumed.found);
        CHECK(resumed[0].report.steps == 12 - step + 1);
        for (std::size_t rank = 0; rank < 3; ++rank) {
            CAPTURE(rank);
            CHECK(resumed[rank].same_run(whole[rank]));
        }
    }
}

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("gossip by every method is resumed to the last bit", M, by_method) {
    if constexpr (!detail::mixing::in_pairs<M>) resumes_exactly(testing::gossip_by<M>(0.0625));
}
TEST_CASE_TEMPLATE_APPLY(by_method, testing::every_mixing_method);

TEST_CASE_TEMPLATE_DEFINE("gossip under every controller is resumed to the last bit", C,
                          by_controller) {
    resumes_exactly(gossip{momentum_sgd{}, topologies::ring{}, sensible<C>::options()});
}
TEST_CASE_TEMPLATE_APPLY(by_controller, testing::every_controller);

TEST_CASE("gossip over links that change, with any optimizer, is resumed to the last bit") {
    resumes_exactly(gossip{adamw{}, topologies::random_matching{}, fixed_rounds{2}});
    resumes_exactly(gossip{sgd{}, topologies::ring{}, no_control{}, random_k{}, mixing::choco{}});
}

TEST_CASE("ranks that meet rarely are resumed between meetings, to the last bit") {
    resumes_exactly(local_updates{adamw{}, diloco(), {.every = 4}});
    resumes_exactly(local_updates{sgd{}, sparse_loco(), {.every = 4}});
    resumes_exactly(local_updates{momentum_sgd{}, noloco{}, {.every = 4}});
    resumes_exactly(local_updates{
        sgd{}, compressed_pairs{error_feedback{chunked_top_k{.kept = 8}}}, {.every = 4}});
    resumes_exactly(local_updates{sgd{}, gossip{momentum_sgd{}, topologies::ring{}}, {.every = 4}});
}

TEST_CASE("another number of ranks than had parameters of their own is refused, and told why") {
    const auto check = [](const auto& strategy) {
        memory_files files;
        run_with_checkpoints(3, strategy, files, {.after_step = 7});
        std::string why;
        try {
            run_with_checkpoints(2, strategy, files);
        } catch (const mismatch& e) {
            why = e.what();
        }
        CHECK(why.find("its 3 ranks each had parameters and memory of their own, which 2 ranks "
                       "cannot go on with") != why.npos);
    };
    check(gossip{sgd{}});
    check(local_updates{sgd{}, diloco(), {.every = 4}});
}
