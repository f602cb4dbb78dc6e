#include "sotto/strategies/gossip.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sotto/compressors/scaled_sign.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/gossip/control/consensus_band.hpp"
#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/strategies/gossip/control/control_phases.hpp"
#include "sotto/strategies/gossip/control/exact_mean.hpp"
#include "sotto/strategies/gossip/control/fraction_of_maximum.hpp"
#include "sotto/strategies/gossip/mixing/asynchronous_pairs.hpp"
#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/strategies/gossip/mixing/d_squared.hpp"
#include "sotto/strategies/gossip/mixing/gradient_tracking.hpp"
#include "sotto/strategies/gossip/mixing/push_sum.hpp"
#include "sotto/strategies/gossip/mixing/quasi_global_momentum.hpp"
#include "sotto/strategies/gossip/mixing/slow_momentum.hpp"
#include "sotto/optimizers/adamw.hpp"
#include "sotto/optimizers/clipped.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/scheduled.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/edge_list.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/topologies/lazy.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/topologies/torus.hpp"
#include "support/effort.hpp"
#include "support/training.hpp"
#include "support/tug_of_war.hpp"

using namespace sotto;
using testing::contest, testing::exercise, testing::numbered, testing::number_model,
    testing::quarters, testing::train, testing::trained, testing::tug, testing::tug_by,
    testing::tug_of_war;

namespace {

sgd plain(double rate = 0.0625) {
    return {.learning_rate = rate};
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

/// Drawn anew in each round, of which the one numbered 5 is no mixing matrix.
struct leans_later {
    struct state {
        topologies::mixing_matrix matrix_;

        const topologies::mixing_matrix& matrix(std::int64_t round) {
            matrix_.clear();
            for (int rank = 0; rank < 4; ++rank) matrix_.link_both(rank, (rank + 1) % 4, 0.25);
            if (round == 5) matrix_.link_both(1, 2, 0.45).link_both(2, 3, 0.25);
            return matrix_;
        }
        std::int64_t period() const { return 0; }
    };
    state bind(int size) const { return {topologies::mixing_matrix(size)}; }
    void describe(auto&&) const {}
};

/// Drawn anew in each round, always without a link.
struct never_meets {
    struct state {
        topologies::mixing_matrix matrix_;

        const topologies::mixing_matrix& matrix(std::int64_t) const { return matrix_; }
        std::int64_t period() const { return 0; }
    };
    state bind(int size) const { return {topologies::mixing_matrix(size)}; }
    void describe(auto&&) const {}
};

/// Two ranks, each with a quarter of the other.
struct loose_pair {
    auto bind(int size) const {
        topologies::mixing_matrix w(size);
        w.link_both(0, 1, 0.25);
        return topologies::repeated(std::move(w));
    }
    void describe(auto&&) const {}
};

template <class... Policies>
auto by(Policies... policies) {
    return gossip{plain(), policies...};
}

}  // namespace

// Limits

TEST_CASE("one rank by gossip is plain SGD, bit for bit") {
    const momentum_sgd momentum{.learning_rate = 0.0625, .nesterov = true};
    const auto expected = train(1, all_reduce{momentum});
    CHECK(train(1, gossip{momentum})[0].same_parameters(expected[0]));
    CHECK(train(1, gossip{momentum, topologies::complete{}})[0].same_parameters(expected[0]));
    CHECK(train(1, gossip{momentum, topologies::ring{}, no_control{}, none{},
                          mixing::combine_then_adapt{}})[0]
              .same_parameters(expected[0]));
    const auto simple = train(1, all_reduce{plain()});
    CHECK(train(1, by(topologies::ring{}, no_control{}, none{}, mixing::push_sum{}))[0]
              .same_parameters(simple[0]));
    CHECK(train(1, by(topologies::ring{}, no_control{}, none{}, mixing::gradient_tracking{}))[0]
              .same_parameters(simple[0]));
}

TEST_CASE("one rank is plain SGD also by methods that correct, copy or follow") {
    const auto expected = train(1, all_reduce{plain()});
    const auto is_plain = [&](const auto& method) {
        CHECK(train(1, by(topologies::ring{}, no_control{}, none{}, method))[0].parameters ==
              expected[0].parameters);
    };
    is_plain(mixing::d_squared{});
    is_plain(mixing::choco{});
    is_plain(mixing::quasi_global_momentum{.momentum = 0.0});
    is_plain(mixing::slow_momentum{mixing::adapt_then_combine{}, 2, 0.0, 1.0});
    is_plain(mixing::slow_momentum{mixing::combine_then_adapt{}, 3, 0.0, 1.0});
}

TEST_CASE("on the complete graph all ranks hold the same bits, and those of all-reduce") {
    for (const int ranks : {2, 4, 8}) {
        const exercise work{.examples = 128, .batch_size = 4};  // all batches are full: sums exact
        const auto expected = train(ranks, all_reduce{plain()}, work);
        const auto found = train(ranks, by(topologies::complete{}), work);
        CHECK(agree(found));
        CHECK(found[0].same_parameters(expected[0]));
        CHECK(agree(train(ranks, gossip{adamw{}, topologies::complete{}}, work)));
    }
    CHECK(agree(train(3, gossip{momentum_sgd{}, topologies::complete{}})));
}

TEST_CASE("so they do where the number of ranks is no power of two, and with momentum") {
    for (const int ranks : {3, 4, 5, 6}) {
        CAPTURE(ranks);
        exercise work{.examples = 8 * ranks, .batch_size = 4};  // 4 steps of full batches
        // Multiples of the number of ranks: their means are sums of quarters, whether of gradients
        // or of parameters, and exact.
        work.model.spoil = [ranks](std::span<float> gradient) {
            for (float& g : gradient) g *= static_cast<float>(ranks);
        };
        const auto same = [&](const auto& optimizer) {
            const auto expected = train(ranks, all_reduce{optimizer}, work);
            const auto found = train(ranks, gossip{optimizer, topologies::complete{}}, work);
            CHECK(agree(found));
            CHECK(found[0].same_parameters(expected[0]));
        };
        same(plain());
        same(momentum_sgd{.learning_rate = 0.0625, .momentum = 0.5});
        same(momentum_sgd{.learning_rate = 0.0625, .momentum = 0.5, .nesterov = true});
    }
}

TEST_CASE("exact rounds of one peer are an all-reduce, and so are enough rounds on a ring") {
    const exercise work{.examples = 128, .batch_size = 4};
    const auto expected = train(4, all_reduce{plain()}, work);
    const auto found = train(4, by(topologies::one_peer_exponential{}, fixed_rounds{2}), work);
    CHECK(agree(found));
    CHECK(found[0].same_parameters(expected[0]));
    const auto ring = train(4, by(topologies::ring{}, fixed_rounds{40}), work);
    for (const auto& rank : ring) CHECK(testing::distance(rank, expected[0]) < 1e-4);
}

TEST_CASE_TEMPLATE(
    "every method keeps the mean over ranks where all-reduce has it, on any transport", Over,
    testing::over_in_process, testing::over_simulated) {
    // Gradients do not depend on the parameters, so that the mean is the same however ranks mix.
    for (const int ranks : {2, 3, 5, 8}) {
        CAPTURE(ranks);
        const exercise work{.examples = 20 * ranks, .batch_size = 4, .length = epochs{3}};
        const auto expected = mean(train<Over>(ranks, all_reduce{plain()}, work));
        const auto keeps = [&](const auto& strategy) {
            const auto left = train<Over>(ranks, strategy, work);
            CHECK(largest_difference(mean(left), expected) < 1e-4);
            return left;
        };
        CHECK(agree(keeps(by(topologies::ring{}))) == (ranks <= 3));  // else not all are neighbours
        keeps(by(topologies::torus{}, fixed_rounds{3}));
        keeps(by(topologies::exponential{}));
        keeps(by(topologies::random_matching{}));
        keeps(by(topologies::ring{}, no_control{}, none{}, mixing::combine_then_adapt{}));
        keeps(by(topologies::ring{}, consensus_control{.rho = 0.1}));
        keeps(by(topologies::lazy{topologies::ring{}}, no_control{}, none{}, mixing::d_squared{}));
        keeps(by(topologies::ring{}, no_control{}, none{}, mixing::gradient_tracking{}));
        keeps(by(topologies::ring{}, no_control{}, top_k{.density = 0.1},
                 mixing::choco{.step = 0.2}));
        keeps(by(topologies::ring{}, no_control{}, none{}, mixing::choco{.step = 1.0}));
    }
}

TEST_CASE("an exact mean over any links is what the complete graph gives, bit for bit") {
    const exercise work{.examples = 120, .batch_size = 4};
    const auto expected = train(5, gossip{momentum_sgd{}, topologies::complete{}}, work);
    const auto found = train(5, gossip{momentum_sgd{}, topologies::ring{}, exact_mean{}}, work);
    CHECK(agree(found));
    CHECK(found[0].same_parameters(expected[0]));
    // In a part of the epochs, and back: what is left over from there on is nothing.
    const auto apart =
        train(5, by(topologies::ring{}, control_phases{exact_mean{}, 1.0, no_control{}}), work);
    CHECK_FALSE(agree(apart));
    const auto back =
        train(5, by(topologies::ring{}, control_phases{no_control{}, 1.0, exact_mean{}}), work);
    CHECK(agree(back));
    CHECK(largest_difference(mean(back), mean(train(5, all_reduce{plain()}, work))) < 1e-4);
    const auto tracked =
        train(5, by(topologies::ring{}, exact_mean{}, none{}, mixing::gradient_tracking{}), work);
    CHECK(agree(tracked));
    CHECK(largest_difference(mean(tracked), mean(train(5, all_reduce{plain()}, work))) < 1e-4);
}

TEST_CASE("with weights that are powers of two the mean is kept exactly") {
    const exercise work{.examples = 128, .batch_size = 4};
    const auto expected = mean(train(8, all_reduce{plain(0.5)}, work));
    CHECK(mean(train(8, gossip{plain(0.5), quarters{}}, work)) == expected);
    CHECK(mean(train(
              8, gossip{plain(0.5), quarters{}, no_control{}, none{}, mixing::combine_then_adapt{}},
              work)) == expected);
}

TEST_CASE(
    "a tensor is ready, leaves, arrives and is mixed in this order, by every order of steps") {
    const auto in_order = [](const auto& method) {
        run_in_process(4, [&](auto& transport) {
            number_model model;
            trainer trainer{model,
                            gossip{plain(), topologies::ring{}, no_control{}, none{}, method},
                            transport};
            trainer.fit(numbered{64}, epochs{2}, [](const step_report& step) {
                for (const detail::tensor_times& t : step.round.tensor_times) {
                    CHECK(t.ready <= t.left);
                    CHECK(t.left <= t.arrived);
                    CHECK(t.arrived <= t.decoded);
                }
            });
        });
    };
    in_order(mixing::adapt_then_combine{});
    in_order(mixing::combine_then_adapt{});
    in_order(mixing::gradient_tracking{});
}

// How far apart

TEST_CASE("noise alone keeps ranks apart by the closed form, within 3 %") {
    constexpr std::int64_t d = testing::tries(4000, 1000), steps = testing::tries(400, 120);
    constexpr double rate = 0.5, noise = 0.25;
    const auto formula = [&](int n) {
        double sum = 0.0;
        for (int k = 1; k < n; ++k) {
            const double lambda = 1.0 / 3 + 2.0 / 3 * std::cos(2.0 * M_PI * k / n);
            sum += lambda * lambda / (1.0 - lambda * lambda);
        }
        return rate * rate * noise * noise * 1.5 * d / n * sum;  // with the shifts
    };
    const auto measured = [&](const auto& strategy, int n, std::int64_t rounds) {
        const tug left = tug_by(strategy, {.ranks = n,
                                           .rounds = rounds,
                                           .apart = 0.0f,
                                           .size = d,
                                           .noise = static_cast<float>(noise),
                                           .pull = 0.0f});
        double sum = 0.0;
        const std::size_t from = left.squares.size() / 2;
        for (std::size_t i = from; i < left.squares.size(); ++i) sum += left.squares[i];
        return sum / static_cast<double>(left.squares.size() - from);
    };
    const auto by_noise = [](auto method, double at) {
        return gossip{
            sgd{.learning_rate = at},          topologies::ring{}, no_control{}, none{}, method,
            gossip_options{.measure_every = 1}};
    };
    const mixing::adapt_then_combine adapts;
    const mixing::combine_then_adapt combines;
    CHECK(measured(by_noise(adapts, rate), 8, steps) == doctest::Approx(formula(8)).epsilon(0.03));
    CHECK(measured(by_noise(combines, rate), 8, steps) ==
          doctest::Approx(formula(8)).epsilon(0.03));
    CHECK(measured(by_noise(adapts, rate), 16, steps) ==
          doctest::Approx(formula(16)).epsilon(0.03));
    CHECK(formula(16) / formula(8) == doctest::Approx(29.4 / 10.22).epsilon(1e-2));
    // It is proportional to the rate: by the same noise exactly.
    CHECK(measured(by_noise(adapts, 0.125), 8, 40) ==
          doctest::Approx(measured(by_noise(adapts, rate), 8, 40) / 16.0).epsilon(1e-5));
}

TEST_CASE("a controller ends below its target, and never without a round") {
    const auto left = tug_by(gossip{plain(0.1), topologies::ring{}, consensus_control{.rho = 0.1}},
                             {.ranks = 8, .rounds = 50, .size = 60});
    for (const detail::consensus_report& found : left.last) {
        CHECK(found.rounds > 1);
        CHECK(found.estimate <= found.target);
        CHECK(found.target == doctest::Approx(0.1 * 0.1 * found.gradient_norm).epsilon(0.05));
        CHECK(found.estimate == left.last[0].estimate);  // all decide alike
    }
    // The target of the very first step, too, is the one that decided: by that step's gradients.
    const auto first = tug_by(gossip{plain(0.1), topologies::ring{}, consensus_control{.rho = 0.1}},
                              {.ranks = 8, .rounds = 1, .size = 60});
    for (const detail::consensus_report& found : first.last)
        CHECK(found.target == doctest::Approx(0.1 * 0.1 * found.gradient_norm));
    const auto loose = tug_by(
        gossip{plain(0.1), topologies::ring{}, consensus_control{.rho = 100.0}}, {.ranks = 8});
    CHECK(loose.last[3].rounds == 1);
}

TEST_CASE(
    "by one peer a round a controller goes on for a whole period, and ends below its target") {
    // Neighbours of one round may be alike where those of others are not; rounds shrink the
    // distance by no factor of their own.
    const auto ends_below = [](const auto& topology, int ranks, std::int64_t period) {
        CAPTURE(ranks);
        const auto left = tug_by(gossip{plain(0.1),
                                        topology,
                                        consensus_control{.rho = 0.1},
                                        none{},
                                        mixing::adapt_then_combine{},
                                        {.measure_every = 1}},
                                 {.ranks = ranks, .rounds = 50});
        for (const detail::consensus_report& found : left.last) {
            CHECK(found.rounds >= period);
            CHECK(found.rounds <= 4 * period);
            CHECK(found.distance <= found.target);
            CHECK(found.target > 0.0);
        }
    };
    ends_below(topologies::one_peer_exponential{}, 8, 3);
    ends_below(topologies::one_peer_exponential{}, 16, 4);
    ends_below(topologies::one_peer_exponential{}, 6, 3);
    ends_below(topologies::lazy{topologies::one_peer_exponential{}}, 8, 3);
}

TEST_CASE(
    "an exact mean, and a round that links nobody, estimate nothing: that is no distance of 0") {
    const auto is_unknown = [](const auto& strategy, int ranks, std::int64_t rounds) {
        const auto left = tug_by(strategy, {.ranks = ranks, .rounds = 6});
        for (const detail::consensus_report& found : left.last) {
            CHECK(std::isnan(found.estimate));
            CHECK(found.rounds == rounds);
            CHECK((ranks == 1 || found.target > 0.0));  // it pulls to where it is
        }
    };
    const consensus_control near{.rho = 0.1};
    const consensus_band band{};
    for (const int ranks : {1, 4}) {
        is_unknown(gossip{plain(0.1), topologies::complete{}, near}, ranks, 1);
        is_unknown(gossip{plain(0.1), topologies::complete{}, band}, ranks, 1);  // in every step
    }
    // By chance nobody meets; the band must not take that for being close.
    is_unknown(gossip{plain(0.1), never_meets{}, near}, 4, 2);
    is_unknown(gossip{plain(0.1), never_meets{}, band}, 4, 2);
}

TEST_CASE("the exact distance is what ranks' parameters say, and is kept below a recorded one") {
    const gossip strategy{plain(0.1), topologies::ring{},
                          fraction_of_maximum{.fraction = 0.5, .maxima = {{0.0, 0.2}}}};
    const auto left = tug_by(strategy, {.ranks = 6, .rounds = 40});
    CHECK(left.last[0].distance ==
          doctest::Approx(std::sqrt(left.squared_distance())).epsilon(1e-4));
    CHECK(left.last[0].distance <= 0.1);
    CHECK(left.last[0].target == doctest::Approx(0.1));
}

TEST_CASE("a distance is of what was mixed, after the last round, whatever follows it") {
    // Two ranks pull towards 0 and 1 by half a step; a link of weight 1/4 halves their difference.
    const auto of_steps = [](const auto& control, auto method, std::int64_t every) {
        return tug_by(
            gossip{plain(0.5), loose_pair{}, control, none{}, method, {.measure_every = every}},
            {.ranks = 2, .rounds = 3});
    };
    // Of 6 values pulled to 1, 6 to 2 and 6 to 3 by rank 1: half the difference of ranks, squared.
    const auto squared = [](double difference) {
        return 6.0 * (1 + 4 + 9) * difference * difference / 4.0;
    };
    // With d the difference in the first value: d = (d + (1 - d) / 2) / 2 from 0: 1/4, 5/16, 21/64.
    // The other way round d becomes d / 2 + (1 - d) / 2, ranks hold 1/2 after every step, and what
    // was mixed before it is half of what they had.
    const mixing::adapt_then_combine adapts;
    const mixing::combine_then_adapt combines;
    const fraction_of_maximum loose{.fraction = 1.0, .maxima = {{0.0, 1e3}}};
    for (const auto& left : {of_steps(no_control{}, adapts, 1), of_steps(loose, adapts, 0)}) {
        REQUIRE(left.squares.size() == 3);
        CHECK(left.squares[0] == doctest::Approx(squared(1.0 / 4)));
        CHECK(left.squares[1] == doctest::Approx(squared(5.0 / 16)));
        CHECK(left.squares[2] == doctest::Approx(squared(21.0 / 64)));
        CHECK(left.squared_distance() == doctest::Approx(left.squares[2]));
    }
    for (const auto& left : {of_steps(no_control{}, combines, 1), of_steps(loose, combines, 0),
                             of_steps(loose, combines, 1)}) {
        REQUIRE(left.squares.size() == 3);
        CHECK(left.squares[0] == 0.0);
        CHECK(left.squares[1] == doctest::Approx(squared(1.0 / 4)));
        CHECK(left.squares[2] == doctest::Approx(squared(1.0 / 4)));
        CHECK(left.squared_distance() == doctest::Approx(squared(1.0 / 2)));
    }
}

TEST_CASE("distances are told by tensor, over any links and by any method, and in steps") {
    const auto measured = [](const auto& topology, const auto& control, const auto& compressor,
                             const auto& mixing, std::int64_t every) {
        constexpr int ranks = 4;
        std::vector<std::vector<float>> x(ranks);
        std::vector<double> squares;
        detail::consensus_report last;
        layout tensors;
        run_in_process(ranks, [&](auto& transport) {
            const auto me = static_cast<std::size_t>(transport.rank());
            tug_of_war model(transport.rank(), {.ranks = ranks});
            trainer trainer{model,
                            gossip{plain(0.1), topology, control, compressor, mixing,
                                   gossip_options{.measure_every = every}},
                            transport,
                            {.batch_size = 1}};
            trainer.fit(numbered{ranks}, epochs{5}, [&](const step_report& step) {
                if (me != 0) return;
                last = step.round.consensus;
                squares.assign(last.squared_distances.begin(), last.squared_distances.end());
            });
            x[me].assign(trainer.parameters().begin(), trainer.parameters().end());
            if (me == 0) tensors = model.layout();
        });
        REQUIRE(squares.size() == 2);
        for (const tensor& t : tensors) {
            double expected = 0.0;
            for (auto i = static_cast<std::size_t>(t.offset);
                 i < static_cast<std::size_t>(t.offset + t.size); ++i) {
                double m = 0.0;
                for (const auto& v : x) m += v[i] / double{ranks};
                for (const auto& v : x) expected += (v[i] - m) * (v[i] - m) / ranks;
            }
            CHECK(squares[static_cast<std::size_t>(t.index)] ==
                  doctest::Approx(expected).epsilon(1e-4));
        }
        CHECK(last.distance == doctest::Approx(std::sqrt(squares[0] + squares[1])));
        // The mean over ranks of ||x_i - a_i||^2, before a step that shortens it by little.
        CHECK(last.gradient_norm > 0.0);
        CHECK(last.learning_rate == doctest::Approx(0.1));
    };
    const topologies::ring ring{};
    const mixing::adapt_then_combine plainly{};
    measured(ring, no_control{}, none{}, plainly, 1);
    measured(topologies::complete{}, no_control{}, none{}, plainly, 1);
    measured(ring, exact_mean{}, none{}, plainly, 1);
    measured(ring, no_control{}, top_k{.density = 0.5}, mixing::choco{.step = 0.2}, 1);
    measured(ring, fraction_of_maximum{.fraction = 1.0, .maxima = {{0.0, 1.0}}}, none{}, plainly,
             0);
}

TEST_CASE("the gradient norm is that of ranks' gradients, measured without any control") {
    // No gradient but noise, of variance 1/16 in each of 6,000 dimensions.
    const auto left = tug_by(gossip{plain(0.1),
                                    topologies::ring{},
                                    no_control{},
                                    none{},
                                    mixing::adapt_then_combine{},
                                    {.measure_every = 1}},
                             {.ranks = 4, .rounds = 3, .size = 4000, .noise = 0.25f, .pull = 0.0f});
    for (const detail::consensus_report& found : left.last)
        CHECK(found.gradient_norm == doctest::Approx(std::sqrt(6000.0) / 4.0).epsilon(0.03));
}

TEST_CASE("far from the minimum of a quadratic the critical distance is that of its gradient") {
    // L = 1, and a gradient of -10 everywhere, of which each step leaves 0.99.
    constexpr int rounds = 20;
    const auto left = tug_by(gossip{plain(0.01),
                                    topologies::ring{},
                                    no_control{},
                                    none{},
                                    mixing::adapt_then_combine{},
                                    {.measure_every = 1}},
                             {.ranks = 8,
                              .rounds = rounds,
                              .apart = 0.0f,
                              .away = 10.0f,
                              .size = 40'000,
                              .noise = 1.0f});
    const double d = static_cast<double>(left.x[0].size());
    double squares = 0.0;
    for (int step = 0; step < rounds; ++step) squares += 100.0 * std::pow(0.99, 2 * step) / rounds;
    CHECK(left.last[1].critical * left.last[1].critical ==
          doctest::Approx(squares * d / 8.0).epsilon(0.15));
}

// Methods

TEST_CASE("data that differ hold ranks apart, but not by D^2 and gradient tracking") {
    const sgd by_rate{.learning_rate = 0.1};
    const auto ring = topologies::lazy{topologies::ring{}};
    const auto apart =
        tug_by(gossip{by_rate, ring}, {.ranks = 6, .rounds = 300}).squared_distance();
    CHECK(apart > 0.1);
    for (const auto& left :
         {tug_by(gossip{by_rate, ring, no_control{}, none{}, mixing::d_squared{}},
                 {.ranks = 6, .rounds = 300}),
          tug_by(gossip{by_rate, ring, no_control{}, none{}, mixing::gradient_tracking{}},
                 {.ranks = 6, .rounds = 300})}) {
        CHECK(left.squared_distance() < 1e-9 * apart);
        for (std::size_t i = 0; i < 12; ++i)  // the mean of 0..5, times 1, 2 or 3
            CHECK(left.x[2][i] ==
                  doctest::Approx(2.5 * static_cast<double>(1 + i % 3)).epsilon(1e-4));
    }
}

TEST_CASE("D^2 follows its recursion") {
    // x1 = W (x0 - r g0);  x = W (2 x - x' - r (g - g'))
    constexpr int n = 4, steps = 6;
    constexpr double rate = 0.125;
    auto state = topologies::lazy{quarters{}}.bind(n);
    const auto& w = state.matrix(0);
    const auto place = [](int rank) { return static_cast<double>(rank); };
    std::array<double, n> x{}, before{}, g{}, g_before{};
    for (int step = 0; step < steps; ++step) {
        std::array<double, n> y{}, next{};
        for (std::size_t i = 0; i < n; ++i) {
            g[i] = x[i] - place(static_cast<int>(i));
            y[i] =
                step == 0 ? x[i] - rate * g[i] : 2 * x[i] - before[i] - rate * (g[i] - g_before[i]);
        }
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j)
                next[static_cast<std::size_t>(i)] +=
                    w.weight(i, j) * y[static_cast<std::size_t>(j)];
        before = x;
        g_before = g;
        x = next;
    }
    const auto left = tug_by(gossip{plain(rate), topologies::lazy{quarters{}}, no_control{}, none{},
                                    mixing::d_squared{}},
                             {.ranks = n, .rounds = steps});
    for (std::size_t i = 0; i < n; ++i) CHECK(left.x[i][0] == doctest::Approx(x[i]).epsilon(1e-6));
}

TEST_CASE("D^2 refuses a matrix with an eigenvalue that it cannot bear") {
    CHECK_THROWS_WITH(
        train(4, by(topologies::ring{}, no_control{}, none{}, mixing::d_squared{})),
        "gossip: the mixing matrix has an eigenvalue of -0.333333; this mixing method needs all "
        "above -0.333333: topologies::lazy{...} raises them");
    CHECK_THROWS_AS(
        train(4, by(topologies::exponential{}, no_control{}, none{}, mixing::d_squared{})),
        invalid_option);
}

TEST_CASE("links that never bring ranks together are refused, where it is known of them") {
    const topologies::edge_list two_pairs{{{0, 1}, {2, 3}}};
    const char* apart =
        "topology 'edge_list': what rank 0 has never comes to rank 2: the graph is not connected, "
        "and its "
        "parts would never come together; link them";
    CHECK_THROWS_WITH(train(4, by(two_pairs)), doctest::Contains(apart));
    CHECK_THROWS_WITH(train(4, by(two_pairs, no_control{}, none{}, mixing::asynchronous_pairs{})),
                      doctest::Contains(apart));
    const topologies::edge_list halves{{{0, 1, 0.5}, {1, 2, 0.5}, {2, 3, 0.5}, {3, 0, 0.5}}};
    CHECK_THROWS_WITH(train(4, by(halves)), doctest::Contains("ranks whose own weights are 0"));
    CHECK_NOTHROW(train(4, by(topologies::lazy{halves})));
    CHECK_NOTHROW(train(4, by(halves, no_control{}, none{}, mixing::asynchronous_pairs{})));
    CHECK_NOTHROW(train(4, by(topologies::random_matching{})));  // apart in each round
}

TEST_CASE("of matrices that are drawn anew each is looked at, and refused by its round and row") {
    const auto refuses = [](const auto& strategy, const std::string& why) {
        CHECK_NOTHROW(train(4, strategy, {.examples = 5 * 16, .length = epochs{1}}));
        CHECK_THROWS_WITH(train(4, strategy, {.examples = 6 * 16, .length = epochs{1}}),
                          doctest::Contains(why.c_str()));
    };
    refuses(by(leans_later{}),
            "topology 'leans_later': in round 5 row 2 adds up to 1.200000; rows and columns");
    refuses(
        by(leans_later{}, no_control{}, none{}, mixing::push_sum{}),
        "topology 'leans_later': in round 5 the links out of rank 2 take all that it has, or more");
}

TEST_CASE("push-sum goes over links of one way, and its weights add up to the number of ranks") {
    const topologies::edge_list graph{{{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 0}, {3, 1}}, true};
    const auto left =
        tug_by(gossip{sgd{.learning_rate = 0.02}, graph, no_control{}, none{}, mixing::push_sum{}},
               {.ranks = 4, .rounds = 600});
    for (const auto& x : left.x)
        for (std::size_t i = 0; i < x.size(); ++i)
            CHECK(x[i] == doctest::Approx(1.5 * static_cast<double>(1 + i % 3)).epsilon(0.2));
    double weights = 0.0;
    std::mutex lock;
    run_in_process(4, [&](auto& transport) {
        number_model model;
        trainer trainer{model, gossip{plain(), graph, no_control{}, none{}, mixing::push_sum{}},
                        transport};
        trainer.fit(numbered{64}, epochs{5});
        const std::lock_guard hold(lock);
        CHECK(trainer.state().weight() != 1.0);
        weights += trainer.state().weight();
    });
    CHECK(weights == doctest::Approx(4.0).epsilon(1e-6));
    CHECK_THROWS_AS(train(4, by(graph)), invalid_option);  // by differences the mean would drift
}

TEST_CASE("by CHOCO ranks come together once steps end, though one entry in ten is sent") {
    const auto by_copies = [](double epochs) {
        return gossip{scheduled{sgd{.learning_rate = 0.1},
                                step_decay{.every_epochs = epochs, .factor_per_step = 0.0}},
                      topologies::ring{}, no_control{}, top_k{.density = 0.1},
                      mixing::choco{.step = 0.2}};
    };
    const contest of{.ranks = 5, .rounds = 500, .size = 40};
    const auto together = tug_by(by_copies(20.0), of);
    CHECK(together.squared_distance() < 1e-6 * tug_by(by_copies(600.0), of).squared_distance());
    const double mean = 2.0 * (1.0 - std::pow(0.9, 20));  // towards the mean of 0..4
    for (const auto& x : together.x)
        for (std::size_t i = 0; i < x.size(); ++i)
            CHECK(x[i] == doctest::Approx(mean * static_cast<double>(1 + i % 3)).epsilon(1e-3));
    CHECK_THROWS_AS(
        train(4, by(topologies::one_peer_exponential{}, no_control{}, top_k{}, mixing::choco{})),
        invalid_option);
}

TEST_CASE("quasi-global momentum on the complete graph is momentum SGD of the mean") {
    // Everybody follows (x - x') / rate = m, so that q is a momentum of the means m.
    const mixing::quasi_global_momentum method{.momentum = 0.5, .follow = 0.5, .nesterov = false};
    const auto left =
        tug_by(gossip{plain(0.25), topologies::complete{}, no_control{}, none{}, method},
               {.ranks = 4, .rounds = 5});
    double x = 0.0, q = 0.0;
    for (int step = 0; step < 5; ++step) {
        const double m = 0.5 * q + (x - 1.5), next = x - 0.25 * m;
        q = 0.5 * q + 0.5 * (x - next) / 0.25;
        x = next;
    }
    CHECK(left.x[1][0] == doctest::Approx(x).epsilon(1e-5));
}

TEST_CASE("slow momentum takes the mean every so many steps and goes on as it went") {
    const mixing::slow_momentum method{mixing::adapt_then_combine{}, 2, 0.5, 1.0};
    const auto left = tug_by(gossip{plain(0.25), topologies::ring{}, no_control{}, none{}, method},
                             {.ranks = 3, .rounds = 4});
    double x = 0.0, u = 0.0, from = 0.0;
    for (int outer = 0; outer < 2; ++outer) {
        for (int step = 0; step < 2; ++step) x -= 0.25 * (x - 1.0);  // of the mean
        u = 0.5 * u + (from - x) / 0.25;
        x = from -= 0.25 * u;
    }
    for (const auto& of_rank : left.x) CHECK(of_rank[0] == doctest::Approx(x).epsilon(1e-5));
}

TEST_CASE_TEMPLATE("pairs that mix when they like keep the mean, whoever is slow", Over,
                   testing::over_in_process, testing::over_simulated) {
    for (const int ranks : {1, 2, 3, 6}) {
        CAPTURE(ranks);
        // Ranks have other numbers of steps; gradients do not depend on the parameters.
        exercise work{.length = epochs{3}};
        std::vector<double> expected;
        for (int rank = 0; rank < ranks; ++rank) work.own.push_back(8 + 12 * (rank % 3));
        const auto pairs = gossip{plain(), topologies::complete{}, no_control{}, none{},
                                  mixing::asynchronous_pairs{}};
        const auto left = train<Over>(ranks, pairs, work);
        for (int rank = 0; rank < ranks; ++rank) {  // alone
            exercise one = work;
            one.own = {work.own[static_cast<std::size_t>(rank)]};
            run_in_process(1, [&](auto& transport) {
                number_model model = work.model;
                trainer trainer{model,
                                all_reduce{plain()},
                                transport,
                                {.batch_size = work.batch_size, .seed = work.seed}};
                trainer.fit(local_data{testing::own_examples(work, rank)}, work.length);
                expected.resize(trainer.parameters().size());
                for (std::size_t i = 0; i < expected.size(); ++i)
                    expected[i] += double{trainer.parameters()[i]} / ranks;
            });
        }
        CHECK(largest_difference(mean(left), expected) < 1e-4);
    }
}

TEST_CASE("pairs bring ranks together that pull apart, and count offers and answers") {
    std::vector<std::int64_t> offered(4), answered(4);
    std::vector<float> x(4);
    testing::over_simulated::run(4, [&](auto& transport) {  // all as fast as each other
        const auto me = static_cast<std::size_t>(transport.rank());
        tug_of_war model(transport.rank(), {});
        trainer trainer{model,
                        gossip{plain(0.02), topologies::ring{}, no_control{}, none{},
                               mixing::asynchronous_pairs{}},
                        transport,
                        {.batch_size = 1}};
        for (int fit = 0; fit < 3; ++fit) trainer.fit(numbered{4}, epochs{300});
        offered[me] = trainer.state().offered();
        answered[me] = trainer.state().answered();
        x[me] = trainer.parameters()[0];
    });
    for (std::size_t rank = 0; rank < 4; ++rank) {
        CHECK(offered[rank] == 900);
        CHECK(x[rank] == doctest::Approx(1.5).epsilon(0.2));
    }
    CHECK(answered[0] + answered[1] + answered[2] + answered[3] == 3600);
    const topologies::edge_list one_way{{{0, 1}, {1, 2}, {2, 0}}, true};
    CHECK_THROWS_AS(train(3, by(one_way, no_control{}, none{}, mixing::asynchronous_pairs{})),
                    invalid_option);
    const gossip measured{plain(), topologies::ring{},           no_control{},
                          none{},  mixing::asynchronous_pairs{}, {.measure_every = 5}};
    CHECK_THROWS_WITH(train(3, measured),
                      doctest::Contains("gossip: measure_every is 5, but by "
                                        "mixing::asynchronous_pairs ranks have no steps in common "
                                        "in which they could measure; it must be 0"));
}

// Round by round

TEST_CASE("a rank without data mixes, and optimizers that wait for the whole gradient do so") {
    exercise work{.length = epochs{2}, .own = {0, 16, 8, 3}};
    const auto left = train(4, gossip{clipped{momentum_sgd{}, 1.0}, topologies::ring{}}, work);
    CHECK(left[0].parameters != left[1].parameters);
    const auto still = train(4, gossip{sgd{.learning_rate = 0.0}, topologies::ring{}}, work);
    CHECK(left[0].parameters != still[0].parameters);
    CHECK(left[0].report.steps == left[1].report.steps);
}

TEST_CASE("gradients announced in any order give the same parameters") {
    const auto expected = train(3, gossip{momentum_sgd{}});
    for (const auto order : {testing::announces::first_to_last, testing::announces::outside_in,
                             testing::announces::some, testing::announces::none}) {
        exercise work;
        work.model.order = order;
        const auto found = train(3, gossip{momentum_sgd{}}, work);
        for (std::size_t rank = 0; rank < 3; ++rank)
            CHECK(found[rank].same_parameters(expected[rank]));
    }
}

TEST_CASE("a round that fails leaves parameters and optimizer as after the last one") {
    std::vector<float> parameters, at_failure;
    CHECK_THROWS_AS(
        run_in_process(3,
                       [&](auto& transport) {
                           number_model model;
                           int round = 0;
                           if (transport.rank() == 1)
                               model.spoil = [&](std::span<float> gradient) {
                                   if (++round == 4) gradient[900] = std::nanf("");
                               };
                           trainer trainer{model, gossip{momentum_sgd{}}, transport};
                           try {
                               trainer.fit(numbered{960}, epochs{1}, [&](const step_report& step) {
                                   if (step.step == 3 && transport.rank() == 1)
                                       parameters.assign(trainer.parameters().begin(),
                                                         trainer.parameters().end());
                               });
                           } catch (const non_finite& e) {
                               CHECK(e.rank() == 1);
                               CHECK(e.index() == 588);  // of the tensor it is in
                               at_failure.assign(trainer.parameters().begin(),
                                                 trainer.parameters().end());
                               throw;
                           }
                       }),
        non_finite);
    CHECK_FALSE(parameters.empty());
    CHECK(at_failure == parameters);
}

TEST_CASE("what a round costs is reported: bytes by tensor and neighbour, rounds, and changes") {
    run_in_process(4, [](auto& transport) {
        number_model model;
        trainer trainer{model,
                        gossip{plain(), topologies::ring{}, fixed_rounds{3}},
                        transport,
                        {.batch_size = 8}};
        trainer.fit(numbered{64}, epochs{1}, [&](const step_report& step) {
            const auto n = trainer.tensors().size();
            CHECK(step.round.consensus.rounds == 3);
            CHECK(step.round.message_bytes == 3 * 4 * n);
            CHECK(step.round.bytes_sent == 2 * 3 * 4 * n);
            CHECK(step.round.tensor_message_bytes[0] == 3 * 4 * 300);
            double sum = 0.0;
            for (const double c : step.round.consensus.squared_changes) sum += c;
            CHECK(std::sqrt(sum) == doctest::Approx(step.round.consensus.change));
            CHECK(std::isnan(step.round.consensus.estimate));
        });
        CHECK(trainer.state().rounds().done() == 3 * 2);
    });
}

TEST_CASE("an evaluation is of the mean, the same everywhere, and one's own is one's own") {
    std::vector<double> own(3), all(3);
    run_in_process(3, [&](auto& transport) {
        const auto me = static_cast<std::size_t>(transport.rank());
        tug_of_war model(transport.rank(), {});
        trainer trainer{model, gossip{plain(0.5), quarters{}}, transport, {.batch_size = 1}};
        trainer.fit(numbered{3}, epochs{2});
        all[me] = trainer.evaluate(numbered{6}).loss;
        own[me] = trainer.evaluate_local(numbered{6}).loss;
        CHECK(own[me] == doctest::Approx(trainer.parameters()[0]));
    });
    CHECK(own[0] != own[1]);
    for (const double found : all)
        CHECK(found == doctest::Approx((own[0] + own[1] + own[2]) / 3).epsilon(1e-6));
}

TEST_CASE("ranks' own models are evaluated beside their mean where that is asked for") {
    std::vector<double> own(3);
    std::vector<evaluation> found(3);
    run_in_process(3, [&](auto& transport) {
        const auto me = static_cast<std::size_t>(transport.rank());
        tug_of_war model(transport.rank(), {});
        trainer trainer{model, gossip{plain(0.5), quarters{}}, transport, {.batch_size = 1}};
        const numbered unseen{6};
        trainer.fit(numbered{3}, epochs{2}, evaluate_on{unseen, {.every = 2, .own = true}},
                    [&](const epoch_report& report) {
                        CHECK(report.evaluated.has_value() == (report.epoch == 2));
                        if (report.evaluated) found[me] = *report.evaluated;
                    });
        own[me] = trainer.evaluate_local(unseen).loss;
        const fit_report again = trainer.fit(numbered{3}, epochs{1}, evaluate_on{unseen});
        CHECK_FALSE(again.evaluated->own.has_value());
    });
    std::ranges::sort(own);
    for (const evaluation& all : found) {
        REQUIRE(all.own.has_value());
        CHECK(all.own->loss.least == own[0]);
        CHECK(all.own->loss.mean == doctest::Approx((own[0] + own[1] + own[2]) / 3));
        CHECK(all.own->loss.most == own[2]);
        CHECK(own[0] < own[2]);
        CHECK(std::isnan(all.own->accuracy.mean));  // there are no labels
        CHECK(std::isnan(all.own->accuracy.least));
    }
    // One model, that all have: there is nothing beside it.
    run_in_process(2, [](auto& transport) {
        number_model model;
        trainer trainer{model, all_reduce{plain()}, transport, {.batch_size = 4}};
        const numbered unseen{5};
        const fit_report report =
            trainer.fit(numbered{16}, epochs{1}, evaluate_on{unseen, {.own = true}});
        CHECK_FALSE(report.evaluated->own.has_value());
    });
}
