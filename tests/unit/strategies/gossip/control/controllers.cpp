#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sotto/strategies/gossip/control/consensus_band.hpp"
#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/strategies/gossip/control/control_phases.hpp"
#include "sotto/strategies/detail/gossip/critical_distance.hpp"
#include "sotto/strategies/gossip/control/exact_mean.hpp"
#include "sotto/strategies/gossip/control/fixed_rounds.hpp"
#include "sotto/strategies/gossip/control/fraction_of_maximum.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "support/effort.hpp"

using namespace sotto;

namespace {

/// How many rounds a controller asks for where each shrinks the distance by `lambda`.
int rounds_of(auto& control, double distance, double lambda, std::int64_t step = 0,
              double epoch = 0.0, double rate = 0.1, double norm = 1.0) {
    consensus_reading now{.where = {.step = step, .epoch = epoch},
                          .learning_rate = rate,
                          .gradient_norm = norm,
                          .second_singular_value = lambda};
    for (now.rounds = 1, now.distance = distance; control.wants_another(now); ++now.rounds)
        now.distance *= lambda;
    return now.rounds;
}

/// Momentum SGD of ranks on a ring, on f = 1/2 sum of h x^2, with noise of variance spread^2 in
/// each dimension of each gradient.
struct quadratic {
    static constexpr std::size_t ranks = 8, size = 200;
    static constexpr double L = 3.0;

    double rate = 0.01;
    double momentum = 0.9;
    double start = 0.02;
    double spread = 0.25;
    std::vector<double> curvatures = std::vector<double>(size, L);
    double change_by_curvature = 0.0;  // the mean over steps of ||h (x_i - mean x)||^2

    double noise() const { return spread * spread * size; }

    void train(detail::landscape_estimate& estimate, int steps) {
        random_stream random(5);
        const std::vector<double> none(size);
        std::vector<std::vector<double>> x(ranks, std::vector<double>(size, start)),
            velocity(ranks, none), g(ranks, none);
        for (int step = 0; step < steps; ++step) {
            double squares = 0.0, square_of_mean = 0.0, along = 0.0, apart = 0.0;
            for (std::size_t i = 0; i < size; ++i) {
                const double h = curvatures[i];
                double mean_g = 0.0, mean_x = 0.0;
                for (std::size_t rank = 0; rank < ranks; ++rank) {
                    g[rank][i] = h * x[rank][i] + spread * double{random.normal()};
                    mean_g += g[rank][i] / ranks;
                    mean_x += x[rank][i] / ranks;
                }
                for (std::size_t rank = 0; rank < ranks; ++rank) {
                    const double off = x[rank][i] - mean_x;
                    squares += g[rank][i] * g[rank][i] / ranks;
                    along += (g[rank][i] - mean_g) * off / ranks;
                    apart += off * off / ranks;
                    change_by_curvature += h * h * off * off / (double{ranks} * steps);
                }
                square_of_mean += mean_g * mean_g;
            }
            estimate.see_gradients(squares, square_of_mean, ranks);
            estimate.see_differences(along, apart);
            step_and_mix(x, velocity, g);
        }
    }

private:
    void step_and_mix(std::vector<std::vector<double>>& x,
                      std::vector<std::vector<double>>& velocity,
                      const std::vector<std::vector<double>>& g) const {
        for (std::size_t rank = 0; rank < ranks; ++rank)
            for (std::size_t i = 0; i < size; ++i) {
                double& v = velocity[rank][i];
                v = momentum * v + g[rank][i];
                x[rank][i] -= rate * (g[rank][i] + momentum * v);
            }
        const auto stepped = x;
        for (std::size_t rank = 0; rank < ranks; ++rank)
            for (std::size_t i = 0; i < size; ++i)
                x[rank][i] = (stepped[rank][i] + stepped[(rank + 1) % ranks][i] +
                              stepped[(rank + ranks - 1) % ranks][i]) /
                             3.0;
    }
};

}  // namespace

TEST_CASE("without control there is one round, and a fixed number is done whatever comes") {
    auto none = no_control{}.bind();
    CHECK(rounds_of(none, 1e9, 0.5) == 1);
    auto three = fixed_rounds{3}.bind();
    CHECK(rounds_of(three, 0.0, 0.5) == 3);
    CHECK_THROWS_WITH(fixed_rounds{0}.bind(), "fixed_rounds: rounds is 0; it must be at least 1");
}

TEST_CASE("control goes on until the distance is below rho x rate x gradient norm") {
    auto control = consensus_control{.rho = 0.5, .average = 0.0}.bind();
    CHECK(rounds_of(control, 0.049, 0.5) == 1);
    CHECK(rounds_of(control, 0.051, 0.5, 1) == 2);
    CHECK(rounds_of(control, 0.4, 0.5, 2) == 4);
    CHECK(control.target({.where = {.step = 2}, .learning_rate = 0.1}) == doctest::Approx(0.05));
    CHECK(control.needs({}) == consensus_reading::measure::estimate);
}

TEST_CASE("the gradient norm is a running mean over steps, not over rounds") {
    auto control = consensus_control{.rho = 1.0, .average = 0.75}.bind();
    rounds_of(control, 100.0, 0.5, 0, 0.0, 1.0, 8.0);
    rounds_of(control, 100.0, 0.5, 1, 0.0, 1.0, 4.0);
    CHECK(control.target({.where = {.step = 1}, .learning_rate = 1.0}) == 7.0);
}

TEST_CASE("rounds are bounded by what mixing alone would need, and by the most that is allowed") {
    // A distance that does not shrink, as when what is measured is noise.
    auto control = consensus_control{.rho = 0.1, .average = 0.0}.bind();
    consensus_reading now{.learning_rate = 1.0,
                          .gradient_norm = 1.0,
                          .rounds = 1,
                          .distance = 1.6,
                          .second_singular_value = 0.5};
    while (control.wants_another(now)) ++now.rounds;
    CHECK(now.rounds == 5);  // the first, and log2 16
    auto few = consensus_control{.rho = 0.1, .rounds_max = 3}.bind();
    CHECK(rounds_of(few, 1e6, 0.9) == 3);
    auto unknown = consensus_control{.rho = 0.1, .rounds_max = 7}.bind();
    now = {.learning_rate = 1.0,
           .gradient_norm = 1.0,
           .rounds = 1,
           .distance = 1.0,
           .second_singular_value = std::nan("")};
    while (unknown.wants_another(now)) ++now.rounds;
    CHECK(now.rounds == 7);
}

TEST_CASE(
    "estimates of matrices that take turns are judged by a whole period, the last of a step") {
    const auto rounds_by = [](auto control, const std::vector<double>& estimates, double lambda) {
        consensus_reading now{.learning_rate = 1.0,
                              .gradient_norm = 1.0,
                              .second_singular_value = lambda,
                              .period = 3};
        for (now.rounds = 1;; ++now.rounds) {
            now.distance = estimates[static_cast<std::size_t>(now.rounds - 1) % estimates.size()];
            if (!control.wants_another(now)) return now.rounds;
        }
    };
    const consensus_control to_a_tenth{.rho = 0.1, .average = 0.0};
    CHECK(rounds_by(to_a_tenth.bind(), {0.0}, 0.5) == 3);  // near by one link is not near
    CHECK(rounds_by(to_a_tenth.bind(), {0.0, 0.0, 5.0, 0.0, 0.0, 0.0}, 0.5) == 6);
    CHECK(rounds_by(to_a_tenth.bind(), {5.0, 0.05, 0.05, 0.2, 0.05, 0.05, 0.05}, 0.5) == 7);
    // The bound: of 1.6, the largest of a period, mixing alone would need 4 rounds, two periods.
    CHECK(rounds_by(to_a_tenth.bind(), {0.2, 1.6, 0.2}, 0.5) == 3 + 6);
    CHECK(rounds_by(to_a_tenth.bind(), {1.6}, 1e-3) == 3 + 3);
    CHECK(rounds_by(to_a_tenth.bind(), {1.6}, 0.0) == 3 + 3);
    CHECK(rounds_by(consensus_control{.rho = 0.1, .rounds_max = 2}.bind(), {0.0}, 0.5) == 2);
    // What is exact needs no second look, and has whole periods of further rounds.
    const fraction_of_maximum exact{.fraction = 0.1, .maxima = {{0.0, 1.0}}};
    CHECK(rounds_by(exact.bind(), {0.05}, 0.5) == 1);
    CHECK(rounds_by(exact.bind(), {1.6, 1.6, 0.05}, 1e-3) == 3);
    CHECK(rounds_by(exact.bind(), {1.6}, 1e-3) == 1 + 3);
}

TEST_CASE("a band takes ranks for close only by a whole period of rounds") {
    auto band = consensus_band{.low = 0.5, .high = 2.0, .average = 0.0}.bind();
    consensus_reading now{
        .learning_rate = 1.0, .gradient_norm = 1.0, .second_singular_value = 0.5, .period = 2};
    const auto step = [&](std::int64_t number, const std::vector<double>& estimates) {
        now.where.step = number;
        now.rounds = 0;
        bool more = true;
        for (const double estimate : estimates) {
            CHECK(more);
            ++now.rounds;
            now.distance = estimate;
            more = band.wants_another(now);
        }
        CHECK_FALSE(more);
    };
    step(0, {0.6, 0.1});
    CHECK(band.wants_one({.step = 1}, 1.0));
    step(1, {0.1, 0.1});
    CHECK_FALSE(band.wants_one({.step = 2}, 1.0));
}

TEST_CASE("a band does without mixing once ranks are close, and measures again after it") {
    auto band = consensus_band{.low = 0.5, .high = 2.0, .average = 0.0}.bind();
    CHECK(band.wants_one({.step = 0}, 0.1));
    CHECK(rounds_of(band, 0.19, 0.5, 0) == 1);
    CHECK(band.wants_one({.step = 1}, 0.1));
    CHECK(rounds_of(band, 0.81, 0.5, 1) == 4);
    CHECK(rounds_of(band, 0.04, 0.5, 2) == 1);
    CHECK_FALSE(band.wants_one({.step = 3}, 0.1));
    CHECK(band.wants_one({.step = 4}, 0.1));
    CHECK_THROWS_AS((consensus_band{.low = 2.0, .high = 1.0}.bind()), invalid_option);
}

TEST_CASE("a band mixes where ranks were above it before rounds, or are by a rate that fell") {
    auto band = consensus_band{.low = 0.5, .high = 2.0, .average = 0.0}.bind();
    // Rounds bring ranks from 0.3, above 2 x 0.1, to 0.03, below 0.5 x 0.1: but the next step would
    // carry them as far again.
    CHECK(rounds_of(band, 0.3, 0.1, 0) == 2);
    CHECK(band.wants_one({.step = 1}, 0.1));
    CHECK(rounds_of(band, 0.04, 0.1, 1) == 1);
    CHECK_FALSE(band.wants_one({.step = 2}, 0.1));
    CHECK(band.wants_one({.step = 2}, 0.01));  // above 2 x 0.01
    CHECK(band.wants_one({.step = 2}, 0.05));  // above 0.5 x 0.05
}

TEST_CASE(
    "of a mean of steps each counts once, and the target that is told is that with this one") {
    auto control = consensus_control{.rho = 1.0, .average = 0.75}.bind();
    consensus_reading now{
        .where = {.step = 0}, .learning_rate = 1.0, .gradient_norm = 8.0, .rounds = 1};
    CHECK(control.target(now) == 8.0);
    control.wants_another(now);
    CHECK(control.target(now) == 8.0);
    now.where.step = 1;
    now.gradient_norm = 4.0;
    CHECK(control.target(now) == 7.0);
    control.wants_another(now);
    now.rounds = 2;
    CHECK(control.target(now) == 7.0);
}

TEST_CASE("a fraction of the maximum is of the phase that the step is in") {
    const fraction_of_maximum options{.fraction = 0.25, .maxima = {{0.0, 4.0}, {6.0, 0.4}}};
    auto control = options.bind();
    CHECK(control.needs({}) == consensus_reading::measure::exact);
    CHECK(control.target({.where = {.epoch = 5.9}}) == 1.0);
    CHECK(control.target({.where = {.epoch = 6.0}}) == doctest::Approx(0.1));
    CHECK(rounds_of(control, 1.5, 0.5, 0, 1.0) == 2);
    CHECK(rounds_of(control, 1.5, 0.5, 1, 7.0) == 5);
    CHECK_THROWS_WITH(fraction_of_maximum{}.bind(),
                      "fraction_of_maximum: maxima has no distance from epoch 0 on; record them by "
                      "an uncontrolled run");
    CHECK_THROWS_AS((fraction_of_maximum{.maxima = {{0.0, 1.0}, {0.0, 2.0}}}.bind()),
                    invalid_option);
    CHECK_THROWS_AS((fraction_of_maximum{.fraction = 0.0, .maxima = {{0.0, 1.0}}}.bind()),
                    invalid_option);
}

TEST_CASE("what is described tells recorded maxima apart, however small") {
    const auto text = [](double distance, double epoch) {
        const fraction_of_maximum options{.maxima = {{0.0, distance}, {epoch, 0.5}}};
        return detail::description().add("control", options).text();
    };
    CHECK(text(1e-7, 2.0) != text(2e-7, 2.0));
    CHECK(text(1.0, 2.0) != text(1.0, 2.0 + 1e-7));
    CHECK(text(0.25, 2.0).find("maxima = 0.25 from epoch 0, 0.5 from epoch 2\n") !=
          std::string::npos);
}

TEST_CASE("phases follow each other by epochs") {
    const control_phases options{fixed_rounds{4}, 2.0,
                                 control_phases{fixed_rounds{2}, 3.0, no_control{}}};
    auto control = options.bind();
    CHECK(rounds_of(control, 1.0, 0.5, 0, 1.9) == 4);
    CHECK(rounds_of(control, 1.0, 0.5, 1, 2.0) == 2);
    CHECK(rounds_of(control, 1.0, 0.5, 2, 3.0) == 1);
    const control_phases measured{consensus_control{}, 1.0,
                                  fraction_of_maximum{.maxima = {{0.0, 1.0}}}};
    static_assert(decltype(measured)::measures_exactly && !decltype(options)::measures_exactly);
    CHECK(measured.bind().needs({.epoch = 0.5}) == consensus_reading::measure::estimate);
    CHECK(measured.bind().needs({.epoch = 1.0}) == consensus_reading::measure::exact);
    static_assert(detail::controlling::estimates<decltype(measured)>);
    static_assert(!detail::controlling::estimates<decltype(options)>);
    const auto from = [](double epoch) {
        return control_phases{no_control{}, epoch, fixed_rounds{2}};
    };
    CHECK_THROWS_WITH(from(-0.5).bind(),
                      "control_phases: epoch is -0.5; it must be finite and at least 0");
    CHECK_THROWS_WITH(from(std::nan("")).bind(), doctest::Contains("control_phases: epoch is "));
    CHECK_NOTHROW(from(0.0).bind());
}

TEST_CASE("an exact mean takes the place of what neighbours would do, in its phases alone") {
    auto exact = exact_mean{}.bind();
    CHECK(rounds_of(exact, 1e9, 0.5) == 1);
    CHECK(exact.needs({}) == consensus_reading::measure::nothing);
    CHECK(detail::controlling::wants_mean(exact, {}));
    const control_phases options{exact_mean{}, 2.0,
                                 control_phases{no_control{}, 3.0, exact_mean{}}};
    static_assert(decltype(options)::takes_means);
    static_assert(!detail::controlling::takes_means<control_phases<fixed_rounds, no_control>>);
    const auto control = options.bind();
    CHECK(detail::controlling::wants_mean(control, {.epoch = 1.9}));
    CHECK_FALSE(detail::controlling::wants_mean(control, {.epoch = 2.0}));
    CHECK(detail::controlling::wants_mean(control, {.epoch = 3.0}));
}

TEST_CASE("options that cannot be are refused by name") {
    CHECK_THROWS_WITH((consensus_control{.rho = 0.0}.bind()),
                      "consensus_control: rho is 0; it must be finite and above 0");
    CHECK_THROWS_WITH((consensus_control{.average = 1.0}.bind()),
                      "consensus_control: average is 1; it must be at least 0 and below 1");
    CHECK_THROWS_WITH((consensus_control{.rounds_max = 0}.bind()),
                      "consensus_control: rounds_max is 0; it must be at least 1");
}

TEST_CASE("the critical distance grows with gradient and rate, and shrinks with ranks") {
    const detail::landscape some{.smoothness = 2.0, .noise = 3.0, .squared_gradient = 5.0};
    const double square = squared_critical_distance(some, 0.1, 4);
    CHECK(square == doctest::Approx(0.1 * 3.0 / 8.0 + 5.0 / 32.0));
    CHECK(detail::squared_critical_distance({2.0, 3.0, 6.0}, 0.1, 4) > square);
    CHECK(squared_critical_distance(some, 0.2, 4) > square);
    CHECK(squared_critical_distance(some, 0.1, 8) < square);
    CHECK(detail::squared_critical_distance({2.0, 0.0, 5.0}, 0.1, 8) ==
          doctest::Approx(5.0 / 32.0));
}

TEST_CASE("noise and gradient are found from what ranks' gradients are like") {
    detail::landscape_estimate far, near(0.999);
    quadratic still{.rate = 0.0, .start = 1.0};
    still.train(far, 300);
    CHECK(far.known().noise == doctest::Approx(still.noise()).epsilon(0.05));
    CHECK(far.known().squared_gradient == doctest::Approx(9.0 * quadratic::size).epsilon(0.05));
    CHECK_FALSE(far.is_known());  // ranks do not differ
    CHECK(std::isnan(far.known().smoothness));
    // At the minimum there is noise alone. One step's gradient is as often too small as too large.
    quadratic minimum{.rate = 0.0, .start = 0.0};
    minimum.train(near, 2000);
    CHECK(near.known().squared_gradient < 0.02 * minimum.noise() / quadratic::ranks);
}

TEST_CASE(
    "smoothness is found where noise hides it in every step, and does not grow as rates fall") {
    for (const double momentum : {0.0, 0.9})
        for (const double rate : {0.04, 0.004, 0.0004}) {
            if (momentum == 0.0 && rate < 0.001) continue;  // 10,000 steps would not tell
            if (testing::is_sanitized && rate != 0.004) continue;
            CAPTURE(momentum);
            CAPTURE(rate);
            detail::landscape_estimate estimate(0.9995);
            quadratic steps{.rate = rate, .momentum = momentum};
            steps.train(estimate, 4000);
            // What is looked for, beside the noise of the gradients in which it is.
            CHECK(steps.change_by_curvature < 0.25 * steps.noise());
            REQUIRE(estimate.is_known());
            CHECK(estimate.known().smoothness == doctest::Approx(quadratic::L).epsilon(0.2));
        }
    detail::landscape_estimate hidden, flat;
    quadratic slow{.rate = 1e-6},
        level{.rate = 0.04, .curvatures = std::vector<double>(quadratic::size, 0.0)};
    slow.train(hidden, 500);
    level.train(flat, 500);
    CHECK_FALSE(hidden.is_known());
    CHECK_FALSE(flat.is_known());
}

TEST_CASE("where curvatures differ, smoothness is a mean of them, also of those that oscillate") {
    detail::landscape_estimate estimate(0.9995);
    quadratic steps{.rate = 0.04};
    for (std::size_t i = 0; i < quadratic::size; ++i)
        steps.curvatures[i] = 0.1 + 9.9 * static_cast<double>(i) / quadratic::size;
    steps.train(estimate, 2000);
    REQUIRE(estimate.is_known());
    CHECK(estimate.known().smoothness > 0.5);
    CHECK(estimate.known().smoothness < 10.0);
}

TEST_CASE("a running mean is of all at first, and knows how far off it may be") {
    detail::running_mean mean(0.99);
    random_stream random(8);
    CHECK(std::isinf(mean.standard_error()));
    CHECK_FALSE(mean.is_above_zero());
    for (int i = 0; i < 50; ++i) mean.add(5.0 + random.normal());
    CHECK(mean.value() == doctest::Approx(5.0).epsilon(0.1));
    CHECK(mean.standard_error() == doctest::Approx(1.0 / std::sqrt(50.0)).epsilon(0.25));
    for (int i = 0; i < 2000; ++i) mean.add(1.0 + random.normal());
    CHECK(mean.value() == doctest::Approx(1.0).epsilon(0.3));
    CHECK(mean.standard_error() == doctest::Approx(1.0 / std::sqrt(199.0)).epsilon(0.25));
    CHECK(mean.is_above_zero());
}
