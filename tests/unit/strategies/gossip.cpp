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
#include <vector>

#include "sotto/compressors/scaled_sign.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/consensus/consensus_control.hpp"
#include "sotto/consensus/fraction_of_maximum.hpp"
#include "sotto/mixing/asynchronous_pairs.hpp"
#include "sotto/mixing/choco.hpp"
#include "sotto/mixing/d_squared.hpp"
#include "sotto/mixing/gradient_tracking.hpp"
#include "sotto/mixing/push_sum.hpp"
#include "sotto/mixing/quasi_global_momentum.hpp"
#include "sotto/mixing/slow_momentum.hpp"
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
#include "support/training.hpp"

using namespace sotto;
using testing::exercise, testing::numbered, testing::number_model, testing::train, testing::trained;

namespace {

sgd plain(double rate = 0.0625) {
    return {.learning_rate = rate};
}

/// The mean over the ranks, in double.
std::vector<double> mean(const std::vector<trained>& ranks) {
    std::vector<double> m(ranks.front().parameters.size());
    for (const trained& rank : ranks)
        for (std::size_t i = 0; i < m.size(); ++i)
            m[i] += double{rank.parameters[i]} / static_cast<double>(ranks.size());
    return m;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

struct contest {
    int ranks = 4;
    std::int64_t rounds = 10;
    float apart = 1.0f;
    float away = 0.0f;
    std::int64_t size = 12;
    float noise = 0.0f;
    float pull = 1.0f;
};

/// Every rank pulls towards a place of its own: f_i = 1/2 ||x - a_i||^2. Noise on request.
class tug_of_war {
public:
    using batch_type = numbered::batch_type;

    tug_of_war(int rank, const contest& of)
        : rank_(rank), of_(of), random_(17u + static_cast<unsigned>(rank)) {
        tensors_.add("place", {of.size / 2, 2});
        tensors_.add("shift", {of.size / 2}, tensor_kind::bias);
    }
    const sotto::layout& layout() const noexcept { return tensors_; }
    void initialise(std::span<float> x, random_stream) const { std::ranges::fill(x, 0.0f); }
    double gradient(std::span<const float> x, const batch_type&, std::span<float> out,
                    auto&& on_ready) {
        double loss = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            out[i] = of_.pull * (x[i] - place(i));
            if (of_.noise > 0.0f) out[i] += of_.noise * random_.normal();
            loss += 0.5 * double{out[i]} * out[i];
        }
        on_ready(tensors_[1]);
        on_ready(tensors_[0]);
        return loss;
    }
    float place(std::size_t i) const noexcept {
        return of_.away + of_.apart * static_cast<float>(rank_ * (1 + static_cast<int>(i % 3)));
    }
    double loss(std::span<const float> x, const batch_type&) const { return x[0]; }

private:
    int rank_;
    contest of_;
    random_stream random_;
    sotto::layout tensors_;
};

struct tug {
    std::vector<std::vector<float>> x;
    std::vector<consensus_report> last;
    std::vector<double> squares;  // of the exact distance, step by step

    double squared_distance() const {
        double sum = 0.0;
        for (std::size_t i = 0; i < x.front().size(); ++i) {
            double m = 0.0;
            for (const auto& v : x) m += v[i] / static_cast<double>(x.size());
            for (const auto& v : x) sum += (v[i] - m) * (v[i] - m);
        }
        return sum / static_cast<double>(x.size());
    }
};

template <class Strategy>
tug tug_by(const Strategy& strategy, const contest& of) {
    tug left;
    left.x.resize(static_cast<std::size_t>(of.ranks));
    left.last.resize(static_cast<std::size_t>(of.ranks));
    run_in_process(of.ranks, [&](auto& transport) {
        const auto me = static_cast<std::size_t>(transport.rank());
        tug_of_war model(transport.rank(), of);
        trainer trainer{model, strategy, transport, {.batch_size = 1}};
        trainer.fit(numbered{of.ranks}, epochs{of.rounds}, [&](const step_report& step) {
            left.last[me] = step.round.consensus;
            left.last[me].squared_changes = {};
            if (me == 0 && !std::isnan(step.round.consensus.distance))
                left.squares.push_back(step.round.consensus.distance *
                                       step.round.consensus.distance);
        });
        left.x[me].assign(trainer.parameters().begin(), trainer.parameters().end());
    });
    return left;
}

/// Links of weight 1/4.
struct quarters {
    auto bind(int size) const {
        topologies::mixing_matrix w(size);
        for (int rank = 0; rank < size; ++rank) w.link_both(rank, (rank + 1) % size, 0.25);
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
                for (const tensor_times& t : step.round.tensor_times) {
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
    constexpr std::int64_t d = 4000, steps = 400;
    constexpr double rate = 0.5, noise = 0.25;
    const auto formula = [&](int n, bool adapts_first) {
        double sum = 0.0;
        for (int k = 1; k < n; ++k) {
            const double lambda = 1.0 / 3 + 2.0 / 3 * std::cos(2.0 * M_PI * k / n);
            sum += (adapts_first ? lambda * lambda : 1.0) / (1.0 - lambda * lambda);
        }
        return rate * rate * noise * noise * 1.5 * d / n * sum;  // with the shifts
    };
    const auto measured = [&](const auto& strategy, int n) {
        const tug left = tug_by(strategy, {.ranks = n,
                                           .rounds = steps,
                                           .apart = 0.0f,
                                           .size = d,
                                           .noise = static_cast<float>(noise),
                                           .pull = 0.0f});
        double sum = 0.0;
        const std::size_t from = left.squares.size() / 2;
        for (std::size_t i = from; i < left.squares.size(); ++i) sum += left.squares[i];
        return sum / static_cast<double>(left.squares.size() - from);
    };
    const gossip_options every{.measure_every = 1};
    CHECK(measured(gossip{sgd{.learning_rate = rate}, topologies::ring{}, no_control{}, none{},
                          mixing::adapt_then_combine{}, every},
                   8) == doctest::Approx(formula(8, true)).epsilon(0.03));
    CHECK(measured(gossip{sgd{.learning_rate = rate}, topologies::ring{}, no_control{}, none{},
                          mixing::combine_then_adapt{}, every},
                   8) == doctest::Approx(formula(8, false)).epsilon(0.03));
}

TEST_CASE("a controller ends below its target, and never without a round") {
    const auto left = tug_by(gossip{plain(0.1), topologies::ring{}, consensus_control{.rho = 0.1}},
                             {.ranks = 8, .rounds = 50, .size = 60});
    for (const consensus_report& found : left.last) {
        CHECK(found.rounds > 1);
        CHECK(found.estimate <= found.target);
        CHECK(found.target == doctest::Approx(0.1 * 0.1 * found.gradient_norm).epsilon(0.05));
        CHECK(found.estimate == left.last[0].estimate);  // all decide alike
    }
    const auto loose = tug_by(
        gossip{plain(0.1), topologies::ring{}, consensus_control{.rho = 100.0}}, {.ranks = 8});
    CHECK(loose.last[3].rounds == 1);
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

TEST_CASE("far from the minimum of a quadratic the critical distance is that of its gradient") {
    // L = 1, and a gradient of -10 everywhere
    const auto left = tug_by(
        gossip{plain(0.001),
               topologies::complete{},
               no_control{},
               none{},
               mixing::adapt_then_combine{},
               {.measure_every = 2}},
        {.ranks = 4, .rounds = 41, .apart = 0.0f, .away = 10.0f, .size = 400, .noise = 0.001f});
    const double d = static_cast<double>(left.x[0].size());
    CHECK(left.last[1].critical * left.last[1].critical ==
          doctest::Approx(100.0 * d / 8.0).epsilon(0.1));
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
                trainer.fit(own_share{testing::own_examples(work, rank)}, work.length);
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
}

// Round by round

TEST_CASE("a rank without data mixes, and optimizers that wait for the whole gradient do so") {
    exercise work{.length = epochs{2}, .own = {0, 16, 8, 3}};
    const auto left =
        train(4, gossip{clipped{momentum_sgd{}, by_norm{1.0}}, topologies::ring{}}, work);
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
        own[me] = trainer.evaluate_own(numbered{6}).loss;
        CHECK(own[me] == doctest::Approx(trainer.parameters()[0]));
    });
    CHECK(own[0] != own[1]);
    for (const double found : all)
        CHECK(found == doctest::Approx((own[0] + own[1] + own[2]) / 3).epsilon(1e-6));
}
