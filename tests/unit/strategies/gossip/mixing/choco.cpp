#include "sotto/strategies/gossip/mixing/choco.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "sotto/compressors/chunked_top_k.hpp"
#include "sotto/compressors/detail/contractive.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/qsgd.hpp"
#include "sotto/compressors/random_k.hpp"
#include "sotto/compressors/sampled_top_k.hpp"
#include "sotto/compressors/scaled_down.hpp"
#include "sotto/compressors/scaled_sign.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/terngrad.hpp"
#include "sotto/compressors/threshold.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/gossip/control/fixed_rounds.hpp"
#include "sotto/strategies/gossip/control/fraction_of_maximum.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/topologies/ring.hpp"
#include "support/sensible.hpp"
#include "support/training.hpp"
#include "support/tug_of_war.hpp"

using namespace sotto;
using testing::contest, testing::quarters, testing::tug, testing::tug_by;

namespace {

/// Those whose messages CHOCO can be built on: every one that is contractive.
using contractive_compressors =
    std::tuple<none, fp16, bf16, top_k, sampled_top_k, random_k, threshold, scaled_sign,
               chunked_top_k, sparsified<top_k, no_memory>, sparsified<random_k, no_memory>,
               scaled_down<qsgd>, scaled_down<terngrad>>;

template <class Compressor>
Compressor sensible_options() {
    return testing::sensible<Compressor>::options();
}
template <>
threshold sensible_options<threshold>() {
    return {.limit = 1e-4};
}

/// One step, to a place of each rank's own, and so many rounds after it.
template <class Compressor>
tug mixed_by(const Compressor& compressor, double step, int rounds, const contest& of) {
    return tug_by(gossip{sgd{.learning_rate = 1.0}, topologies::ring{}, fixed_rounds{rounds},
                         compressor, mixing::choco{.step = step}},
                  of);
}

using row = std::vector<double>;

/// What mixing::choco says, in double: by `compress`, which makes of a difference what is sent.
std::vector<row> plain_choco(int ranks, int steps, double rate, double step, std::int64_t size,
                             float away, auto compress) {
    const auto state = quarters{}.bind(ranks);
    const auto& w = state.matrix(0);
    const auto n = static_cast<std::size_t>(ranks), d = static_cast<std::size_t>(size * 3 / 2);
    std::vector<row> x(n, row(d)), copies(n, row(d));
    for (int t = 0; t < steps; ++t) {
        const std::vector<row> old = copies;
        for (std::size_t i = 0; i < n; ++i) {
            row difference(d);
            for (std::size_t k = 0; k < d; ++k) {
                const double place =
                    double{away} + static_cast<double>(i) * static_cast<double>(1 + k % 3);
                x[i][k] -= rate * (x[i][k] - place);
                for (std::size_t j = 0; j < n; ++j)
                    x[i][k] += step * w.weight(static_cast<int>(i), static_cast<int>(j)) *
                               (old[j][k] - old[i][k]);
                difference[k] = x[i][k] - old[i][k];
            }
            compress(std::span(difference).first(static_cast<std::size_t>(size)));
            compress(std::span(difference).subspan(static_cast<std::size_t>(size)));
            for (std::size_t k = 0; k < d; ++k) copies[i][k] += difference[k];
        }
    }
    return x;
}

void same_as(const tug& found, const std::vector<row>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i)
        for (std::size_t k = 0; k < expected[i].size(); ++k)
            CHECK(found.x[i][k] == doctest::Approx(expected[i][k]).epsilon(1e-5));
}

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("by every contractive compressor ranks come together at their mean", C,
                          comes_together) {
    static_assert(detail::contractive<C>);
    const contest of{.ranks = 5, .rounds = 1, .away = 0.25f, .size = 40};
    const auto far = mixed_by(sensible_options<C>(), 0.05, 1, of);
    const auto near = mixed_by(sensible_options<C>(), 0.05, 600, of);
    CHECK(near.squared_distance() < 1e-6 * far.squared_distance());
    for (const auto& x : near.x)
        for (std::size_t i = 0; i < x.size(); ++i)
            CHECK(x[i] ==
                  doctest::Approx(0.25 + 2.0 * static_cast<double>(1 + i % 3)).epsilon(1e-3));
}
TEST_CASE_TEMPLATE_APPLY(comes_together, contractive_compressors);

TEST_CASE("the mean is kept exactly, whatever messages leave out") {
    // A step to integers, then rounds by weights of 1/4, halved: each needs three bits more.
    const auto keeps_mean = [](const auto& compressor, int ranks) {
        CAPTURE(ranks);
        const tug left = tug_by(gossip{sgd{.learning_rate = 1.0}, quarters{}, fixed_rounds{6},
                                       compressor, mixing::choco{.step = 0.5}},
                                {.ranks = ranks, .rounds = 1, .size = 40});
        for (std::size_t i = 0; i < left.x[0].size(); ++i) {
            double sum = 0.0;
            for (const auto& x : left.x) sum += x[i];
            CHECK(sum == ranks * (ranks - 1) / 2 * static_cast<double>(1 + i % 3));
        }
        // Rank 0, whose place is 0, has moved from it.
        CHECK(std::ranges::any_of(left.x[0], [](float x) { return x != 0.0f; }));
    };
    for (const int ranks : {2, 3, 5, 8}) {
        keeps_mean(none{}, ranks);
        keeps_mean(top_k{.density = 0.2f}, ranks);
        keeps_mean(random_k{.density = 0.2f}, ranks);
        keeps_mean(threshold{.limit = 2.0}, ranks);
    }
}

TEST_CASE("over many rounds the mean stays where it is, also with five neighbours of 1/6") {
    // 5 times 1/6 as a float is 4.5e-8 off 5/6 as one: in 3,000 rounds that is 1e-4 of a copy.
    const contest of{.ranks = 6, .rounds = 1, .apart = 0.25f, .away = 100.0f};
    const tug left = tug_by(gossip{sgd{.learning_rate = 1.0}, topologies::complete{},
                                   fixed_rounds{3000}, none{}, mixing::choco{.step = 1.0}},
                            of);
    for (std::size_t i = 0; i < left.x[0].size(); ++i) {
        double mean = 0.0;
        for (const auto& x : left.x) mean += x[i] / 6.0;
        CHECK(mean ==
              doctest::Approx(100.0 + 0.625 * static_cast<double>(1 + i % 3)).epsilon(2e-5));
    }
}

TEST_CASE("CHOCO moves towards old copies, and sends what it is then away from its own") {
    constexpr int ranks = 4, steps = 6;
    constexpr std::int64_t size = 12;
    constexpr float away = 0.375f;
    const contest of{.ranks = ranks, .rounds = steps, .away = away, .size = size};
    const auto by = [&](const auto& compressor) {
        return tug_by(gossip{sgd{.learning_rate = 0.125}, quarters{}, no_control{}, compressor,
                             mixing::choco{.step = 0.5}},
                      of);
    };
    same_as(by(none{}),
            plain_choco(ranks, steps, 0.125, 0.5, size, away, [](std::span<double>) {}));
    same_as(by(scaled_sign{.dense_vectors = false}),
            plain_choco(ranks, steps, 0.125, 0.5, size, away, [](std::span<double> q) {
                double magnitude = 0.0;
                for (const double v : q) magnitude += std::abs(v) / static_cast<double>(q.size());
                for (double& v : q) v = std::copysign(magnitude, v);
            }));
}

TEST_CASE("every round of a step draws other entries") {
    // One entry in eight: were they the same ones in every round, ranks would stay apart in the
    // others.
    const contest of{.ranks = 4, .rounds = 1, .size = 64};
    const random_k few{.density = 0.125};
    CHECK(mixed_by(few, 0.05, 400, of).squared_distance() <
          1e-3 * mixed_by(few, 0.05, 1, of).squared_distance());
}

TEST_CASE("an exact distance controls CHOCO, and no estimate of it is told") {
    const gossip strategy{sgd{.learning_rate = 0.1}, topologies::ring{},
                          fraction_of_maximum{.fraction = 0.5, .maxima = {{0.0, 0.2}}},
                          top_k{.density = 0.5}, mixing::choco{.step = 0.4}};
    const auto left = tug_by(strategy, {.ranks = 6, .rounds = 40});
    for (const detail::consensus_report& found : left.last) {
        CHECK(found.distance <= 0.1);
        CHECK(found.distance == doctest::Approx(std::sqrt(left.squared_distance())).epsilon(1e-4));
        CHECK(found.rounds > 1);
        CHECK(std::isnan(found.estimate));
    }
}

TEST_CASE("copies are of neighbours that stay: links that change are refused by name") {
    CHECK_THROWS_WITH(
        testing::train(
            4, gossip{sgd{}, topologies::random_matching{}, no_control{}, none{}, mixing::choco{}}),
        doctest::Contains("gossip: mixing::choco keeps copies of the same neighbours, but "
                          "topologies::random_matching has other links from round to round"));
}
