// What every optimizer promises, and the formula of each in double.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "support/all_policies.hpp"
#include "support/allocation_count.hpp"
#include "support/generators.hpp"
#include "support/sensible.hpp"
#include "support/snapshot.hpp"

using namespace sotto;

namespace {

using floats = std::vector<float>;

template <class Optimizer>
using state_type = decltype(std::declval<const Optimizer&>().bind(std::declval<const layout&>()));

step_info step_at(std::int64_t step) {
    return {.where = {.step = step, .epoch = static_cast<double>(step) / 4, .world_size = 3}};
}

floats gradient_of(std::int64_t step) {
    return testing::normal_values(testing::small_layout().size(),
                                  static_cast<std::uint64_t>(100 + step));
}

/// Parameters and an optimizer that moves them.
template <class Optimizer>
struct trainee {
    layout tensors = testing::small_layout();
    state_type<Optimizer> state;
    floats parameters = testing::normal_values(tensors.size(), 1);

    explicit trainee(const Optimizer& options = testing::sensible<Optimizer>::options())
        : state(options.bind(tensors)) {}

    void step(std::int64_t number, const floats& gradient, bool backwards = false,
              double rate_factor = 1.0) {
        step_info info = step_at(number);
        info.rate_factor = rate_factor;
        state.begin_step(info, gradient);
        const auto count = static_cast<std::int64_t>(tensors.tensors().size());
        for (std::int64_t k = 0; k < count; ++k) {
            const tensor& t = tensors[backwards ? count - 1 - k : k];
            state.update(t, t.of(std::span(parameters)), t.of(std::span<const float>(gradient)));
        }
        detail::optimizing::commit(state);
    }
};

bool same_bits(const floats& a, const floats& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
        return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
    });
}

/// One weight followed in double, `steps` times, beside the optimizer: the largest distance over
/// all weights. `formula(w, g, t, decays)` moves w; `decays` is false for biases.
template <class Optimizer, class MakeFormula>
double distance(const Optimizer& options, MakeFormula make_formula, int steps = 25) {
    trainee<Optimizer> one(options);
    std::vector<double> expected(one.parameters.begin(), one.parameters.end());
    auto formulas = std::vector(expected.size(), make_formula());
    double largest = 0.0;
    for (int s = 0; s < steps; ++s) {
        const floats g = gradient_of(s);
        one.step(s, g);
        for (const tensor& t : one.tensors)
            for (std::int64_t j = t.offset; j < t.offset + t.size; ++j) {
                const auto i = static_cast<std::size_t>(j);
                formulas[i](expected[i], double{g[i]}, s + 1, t.kind == tensor_kind::weight);
                largest = std::max(largest, std::abs(expected[i] - one.parameters[i]));
            }
    }
    return largest;
}

constexpr double tolerance = 2e-5;

/// Multiplies the learning rate of an optimizer, or of the one inside.
template <class Optimizer>
void multiply_rate(Optimizer& options, double by) {
    if constexpr (requires { options.inner; })
        multiply_rate(options.inner, by);
    else
        options.learning_rate *= by;
}

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("tensors may be updated in any order", O, any_order) {
    static_assert(optimizer<O>);
    trainee<O> forwards, backwards;
    for (std::int64_t s = 0; s < 10; ++s) {
        forwards.step(s, gradient_of(s));
        backwards.step(s, gradient_of(s), true);
        CHECK(same_bits(forwards.parameters, backwards.parameters));
    }
    CHECK(testing::snapshot(forwards.state) == testing::snapshot(backwards.state));
}
TEST_CASE_TEMPLATE_APPLY(any_order, testing::every_optimizer);

TEST_CASE_TEMPLATE_DEFINE("parameters move, stay finite, and a twin moves alike", O, moves) {
    trainee<O> one, twin;
    const floats start = one.parameters;
    for (std::int64_t s = 0; s < 10; ++s) {
        one.step(s, gradient_of(s));
        twin.step(s, gradient_of(s));
    }
    CHECK_FALSE(same_bits(one.parameters, start));
    CHECK(same_bits(one.parameters, twin.parameters));
    CHECK(std::ranges::all_of(one.parameters, [](float w) { return std::isfinite(w); }));
}
TEST_CASE_TEMPLATE_APPLY(moves, testing::every_optimizer);

TEST_CASE_TEMPLATE_DEFINE("optimizer: a step's rate factor -> as that much of the rate", O,
                          follows_rate_factor) {
    O lower = testing::sensible<O>::options();
    multiply_rate(lower, 0.25);
    trainee<O> by_factor, by_rate(lower);
    for (std::int64_t s = 0; s < 5; ++s) {
        by_factor.step(s, gradient_of(s), false, 0.25);
        by_rate.step(s, gradient_of(s));
        CHECK(same_bits(by_factor.parameters, by_rate.parameters));
    }
}
TEST_CASE_TEMPLATE_APPLY(follows_rate_factor, testing::every_optimizer);

TEST_CASE_TEMPLATE_DEFINE("a gradient of zero moves nothing where the update is linear", O,
                          zero_moves_nothing) {
    if constexpr (detail::linear_optimizer<O>) {
        trainee<O> one;
        const floats nothing(one.parameters.size());
        for (std::int64_t s = 0; s < 5; ++s) {
            const floats before = one.parameters;
            one.step(s, nothing);
            CHECK(same_bits(one.parameters, before));
            one.step(s, gradient_of(s));
        }
    }
}
TEST_CASE_TEMPLATE_APPLY(zero_moves_nothing, testing::every_optimizer);

TEST_CASE_TEMPLATE_DEFINE("a step that did not take place leaves no trace", O, may_begin_again) {
    trainee<O> one, twin;
    for (std::int64_t s = 0; s < 5; ++s) {
        one.state.begin_step(step_at(s), gradient_of(s + 100));  // some rank voted against it
        one.step(s, gradient_of(s));
        twin.step(s, gradient_of(s));
    }
    CHECK(same_bits(one.parameters, twin.parameters));
}
TEST_CASE_TEMPLATE_APPLY(may_begin_again, testing::every_optimizer);

TEST_CASE_TEMPLATE_DEFINE("a sparse update gives the bits of a dense one", O, updates_sparsely) {
    trainee<O> densely, sparsely;
    if constexpr (requires(const tensor& t, std::span<float> w, std::span<const float> g,
                           std::span<const std::uint32_t> i) {
                      sparsely.state.update_at(t, w, g, i);
                  }) {
        REQUIRE(detail::optimizing::updates_sparsely(sparsely.state));
        for (std::int64_t s = 0; s < 10; ++s) {
            floats gradient = gradient_of(s);
            for (std::size_t i = 0; i < gradient.size(); ++i)
                if ((i + static_cast<std::size_t>(s)) % 7 != 0) gradient[i] = 0.0f;
            densely.step(s, gradient);
            sparsely.state.begin_step(step_at(s), gradient);
            for (const tensor& t : sparsely.tensors) {
                const auto own = t.of(std::span<const float>(gradient));
                std::vector<std::uint32_t> indices;
                for (std::uint32_t i = 0; i < own.size(); ++i)
                    if (own[i] != 0.0f) indices.push_back(i);
                sparsely.state.update_at(t, t.of(std::span(sparsely.parameters)), own, indices);
            }
            CHECK(same_bits(densely.parameters, sparsely.parameters));
        }
    } else {
        CHECK_FALSE(detail::optimizing::updates_sparsely(sparsely.state));
    }
}
TEST_CASE_TEMPLATE_APPLY(updates_sparsely, testing::every_optimizer);

TEST_CASE_TEMPLATE_DEFINE("a fresh state given what visit shows goes on with the same bits", O,
                          resumes) {
    trainee<O> one;
    for (std::int64_t s = 0; s < 7; ++s) one.step(s, gradient_of(s));
    trainee<O> resumed;
    resumed.parameters = one.parameters;
    testing::snapshot(one.state).put_into(resumed.state);
    for (std::int64_t s = 7; s < 15; ++s) {
        one.step(s, gradient_of(s));
        resumed.step(s, gradient_of(s));
        CHECK(same_bits(one.parameters, resumed.parameters));
    }
    CHECK(testing::snapshot(one.state) == testing::snapshot(resumed.state));
}
TEST_CASE_TEMPLATE_APPLY(resumes, testing::every_optimizer);

TEST_CASE_TEMPLATE_DEFINE("a step takes no memory", O, takes_no_memory) {
    if (!support::allocation_count::works) {
        MESSAGE("skipped: allocations are not counted under sanitizers");
        return;
    }
    trainee<O> one;
    const floats gradient = gradient_of(0);
    const support::allocation_count count;
    for (std::int64_t s = 0; s < 5; ++s) one.step(s, gradient);
    CHECK(count.on_this_thread() == 0);
}
TEST_CASE_TEMPLATE_APPLY(takes_no_memory, testing::every_optimizer);

TEST_CASE("SGD subtracts the rate times the gradient, and decay with a momentum of its own") {
    CHECK(distance(sgd{.learning_rate = 0.1}, [] {
              return [](double& w, double g, int, bool) { w -= 0.1 * g; };
          }) < tolerance);
    for (const double momentum : {0.0, 0.9}) {
        const sgd decaying{.learning_rate = 0.1, .weight_decay = 0.05, .decay_momentum = momentum};
        CHECK(distance(decaying, [&] {
                  return [momentum, b = 0.0](double& w, double g, int, bool decays) mutable {
                      b = momentum * b + (decays ? 0.05 * w : 0.0);
                      w -= 0.1 * (g + b);
                  };
              }) < tolerance);
    }
}

TEST_CASE("momentum SGD follows the heavy ball and Nesterov") {
    for (const bool nesterov : {false, true})
        for (const double decay : {0.0, 0.02}) {
            const momentum_sgd options{.learning_rate = 0.02,
                                       .momentum = 0.9,
                                       .nesterov = nesterov,
                                       .weight_decay = decay};
            CHECK(distance(options, [&] {
                      return [=, u = 0.0](double& w, double g, int, bool decays) mutable {
                          const double d = g + (decays ? decay * w : 0.0);
                          u = 0.9 * u + d;
                          w -= 0.02 * (nesterov ? d + 0.9 * u : u);
                      };
                  }) < tolerance);
        }
}

TEST_CASE("AdamW corrects its moments' bias and decays apart from them") {
    for (const double decay : {0.0, 0.1}) {
        const adamw options{
            .learning_rate = 0.01, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = decay};
        CHECK(distance(options, [&] {
                  return [=, m = 0.0, v = 0.0](double& w, double g, int t, bool decays) mutable {
                      m = 0.8 * m + 0.2 * g;
                      v = 0.95 * v + 0.05 * g * g;
                      const double step = m / (1 - std::pow(0.8, t)) /
                                          (std::sqrt(v / (1 - std::pow(0.95, t))) + 1e-8);
                      w -= 0.01 * ((decays ? decay * w : 0.0) + step);
                  };
              }) < tolerance);
    }
}

TEST_CASE("AdamW's first step is the rate in the direction of each gradient's sign") {
    trainee<adamw> one(adamw{.learning_rate = 0.25, .weight_decay = 0.0});
    const floats before = one.parameters, gradient = gradient_of(3);
    one.step(0, gradient);
    for (std::size_t i = 0; i < before.size(); ++i)
        CHECK(before[i] - one.parameters[i] ==
              doctest::Approx(gradient[i] > 0 ? 0.25 : -0.25).epsilon(1e-6));
}

TEST_CASE("AdamW: first step, any beta -> the formula in double to 1e-6") {
    // The step is g c1 (1 - b1) / sqrt(g^2 c2 (1 - b2)): 1 - b as a float difference is off by
    // 6.8e-4 of the step at b2 = 0.99999.
    for (const double beta1 : {0.0, 0.9, 0.99999})
        for (const double beta2 : {0.9, 0.999, 0.9999, 0.99999, 0.9999999}) {
            CAPTURE(beta1);
            CAPTURE(beta2);
            trainee<adamw> one(
                adamw{.learning_rate = 1.0, .beta1 = beta1, .beta2 = beta2, .weight_decay = 0.0});
            std::ranges::fill(one.parameters, 0.0f);
            const floats gradient = gradient_of(3);
            one.step(0, gradient);
            for (std::size_t i = 0; i < gradient.size(); ++i) {
                const double g = double{gradient[i]}, step = g / (std::abs(g) + 1e-8);
                CHECK(std::abs(-double{one.parameters[i]} / step - 1.0) < 1e-6);
            }
        }
}

TEST_CASE("AdamW: thousands of steps, betas near 1 -> moments as in double") {
    // A decay of the float 0.9999 keeps 0.017 % too long, and one of 0.99999 0.14 %.
    for (const double beta : {0.99, 0.9999, 0.99999}) {
        CAPTURE(beta);
        layout tensors;
        tensors.add("w", {8, 4});
        auto state = adamw{.learning_rate = 0.0, .beta1 = beta, .beta2 = beta}.bind(tensors);
        floats w(32), g(32);
        std::vector<double> m(32), v(32);
        random_stream random(7);
        const int steps = std::min(static_cast<int>(5.0 / (1.0 - beta)), 200'000);
        for (int s = 0; s < steps; ++s) {
            for (std::size_t i = 0; i < g.size(); ++i) {
                g[i] = 1.0f + random.normal();
                m[i] += (1.0 - beta) * (double{g[i]} - m[i]);
                v[i] += (1.0 - beta) * (double{g[i]} * double{g[i]} - v[i]);
            }
            state.begin_step(step_at(s), g);
            state.update(tensors[0], w, g);
            state.commit();
        }
        double of_mean = 0.0, of_square = 0.0;
        state.visit([&](const std::string& name, auto&& field) {
            if constexpr (requires { field.size(); })
                for (std::size_t i = 0; i < field.size(); ++i)
                    (name == "adamw/mean/w" ? of_mean : of_square) +=
                        double{field[i]} / (name == "adamw/mean/w" ? m[i] : v[i]) - 1.0;
        });
        CHECK(std::abs(of_mean / 32) < 5e-5);
        CHECK(std::abs(of_square / 32) < 5e-5);
    }
}

TEST_CASE("AdamW: a square beyond all floats -> its weight moves later") {
    layout tensors;
    tensors.add("w", {1, 1});
    auto state = adamw{.learning_rate = 0.1, .weight_decay = 0.0}.bind(tensors);
    floats w(1);
    const auto step = [&](std::int64_t number, float gradient) {
        const floats g(1, gradient);
        state.begin_step(step_at(number), g);
        state.update(tensors[0], w, g);
        state.commit();
        return w[0];
    };
    CHECK(std::isfinite(step(0, 1e20f)));
    float last = w[0];
    for (std::int64_t s = 1; s < 200'000; ++s) last = step(s, 1.0f);
    CHECK(std::isfinite(last));
    CHECK(step(200'000, 1.0f) < last);
    CHECK(last - w[0] == doctest::Approx(0.1).epsilon(0.01));
}

TEST_CASE("momentum zero is SGD, bit for bit") {
    trainee<sgd> plain(sgd{.learning_rate = 0.1});
    trainee<momentum_sgd> ball(momentum_sgd{.learning_rate = 0.1, .momentum = 0.0});
    for (std::int64_t s = 0; s < 10; ++s) {
        plain.step(s, gradient_of(s));
        ball.step(s, gradient_of(s));
    }
    CHECK(same_bits(plain.parameters, ball.parameters));
}

TEST_CASE("decay follows the momentum that gradients carry, also through a schedule") {
    const sgd decaying{.learning_rate = 0.1, .weight_decay = 0.05};
    const sgd told{.learning_rate = 0.1, .weight_decay = 0.05, .decay_momentum = 0.9};
    trainee<sgd> expected(told), followed(decaying), unmoved(told);
    trainee<scheduled<sgd, constant_rate>> behind_schedule({decaying, constant_rate{}});
    detail::optimizing::follow_momentum(followed.state, {0.9});
    detail::optimizing::follow_momentum(behind_schedule.state, {0.9});
    detail::optimizing::follow_momentum(unmoved.state, {0.3});  // what was set explicitly stays
    for (std::int64_t s = 0; s < 10; ++s) {
        expected.step(s, gradient_of(s));
        followed.step(s, gradient_of(s));
        behind_schedule.step(s, gradient_of(s));
        unmoved.step(s, gradient_of(s));
    }
    CHECK(same_bits(expected.parameters, followed.parameters));
    CHECK(same_bits(expected.parameters, behind_schedule.parameters));
    CHECK(same_bits(expected.parameters, unmoved.parameters));
}

TEST_CASE("weight decay makes updates dense, and reaches weights alone") {
    const layout tensors = testing::small_layout();
    CHECK(sgd{}.bind(tensors).updates_sparsely());
    CHECK_FALSE(sgd{.weight_decay = 0.1}.bind(tensors).updates_sparsely());
    trainee<sgd> one(sgd{.learning_rate = 0.5, .weight_decay = 0.5});
    const floats before = one.parameters;
    one.step(0, floats(before.size()));
    for (const tensor& t : tensors)
        for (std::int64_t j = t.offset; j < t.offset + t.size; ++j) {
            const auto i = static_cast<std::size_t>(j);
            CHECK(one.parameters[i] ==
                  (t.kind == tensor_kind::weight ? 0.75f * before[i] : before[i]));
        }
}

TEST_CASE("clipping shortens long gradients to the norm and keeps their direction") {
    const auto moved = [](double norm, const floats& gradient) {
        trainee<clipped<sgd>> one({sgd{.learning_rate = 1.0}, norm});
        std::ranges::fill(one.parameters, 0.0f);
        one.step(0, gradient);
        return one.parameters;
    };
    const floats gradient = gradient_of(0);
    double length = 0.0;
    for (const float g : gradient) length += double{g} * g;
    length = std::sqrt(length);

    const floats shortened = moved(length / 4, gradient);
    double new_length = 0.0;
    for (const float w : shortened) new_length += double{w} * w;
    CHECK(std::sqrt(new_length) == doctest::Approx(length / 4).epsilon(1e-6));
    for (std::size_t i = 0; i < gradient.size(); ++i)
        CHECK(shortened[i] == doctest::Approx(-gradient[i] / 4).epsilon(1e-5));

    floats negative = gradient;
    for (float& g : negative) g = 0.0f - g;
    CHECK(same_bits(moved(1.0001 * length, gradient), negative));
    const floats nothing(gradient.size());
    CHECK(same_bits(moved(1.0, nothing), nothing));
}

TEST_CASE("what the inner optimizer of a wrapper remembers is the wrapper's") {
    trainee<momentum_sgd> bare;
    trainee<clipped<momentum_sgd>> loose({testing::sensible<momentum_sgd>::options(), 1e9});
    trainee<scheduled<momentum_sgd, constant_rate>> constant(
        {testing::sensible<momentum_sgd>::options(), constant_rate{}});
    for (std::int64_t s = 0; s < 5; ++s) {
        bare.step(s, gradient_of(s));
        loose.step(s, gradient_of(s));
        constant.step(s, gradient_of(s));
    }
    CHECK(same_bits(bare.parameters, loose.parameters));
    CHECK(same_bits(bare.parameters, constant.parameters));
    CHECK(testing::snapshot(bare.state) == testing::snapshot(loose.state));
    CHECK(testing::snapshot(bare.state) == testing::snapshot(constant.state));
    CHECK_FALSE(testing::snapshot(bare.state).empty());
}

TEST_CASE("options that cannot work are refused by name and value") {
    const layout tensors = testing::small_layout();
    const auto refuses = [&](const auto& options, const std::string& sentence) {
        CHECK_THROWS_WITH_AS(options.bind(tensors), sentence.c_str(), invalid_option);
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    refuses(sgd{.learning_rate = -0.5},
            "sgd: learning_rate is -0.5; it must be finite and at least 0");
    refuses(sgd{.weight_decay = -1.0}, "sgd: weight_decay is -1; it must be finite and at least 0");
    refuses(sgd{.decay_momentum = 1.0},
            "sgd: decay_momentum is 1; it must be at least 0 and below 1, or -1");
    refuses(momentum_sgd{.learning_rate = -1.0},
            "momentum_sgd: learning_rate is -1; it must be finite and at least 0");
    refuses(momentum_sgd{.momentum = 1.5},
            "momentum_sgd: momentum is 1.5; it must be at least 0 and below 1");
    refuses(momentum_sgd{.weight_decay = -0.1},
            "momentum_sgd: weight_decay is -0.1; it must be finite and at least 0");
    refuses(adamw{.beta1 = 1.0}, "adamw: beta1 is 1; it must be at least 0 and below 1");
    refuses(adamw{.beta2 = -0.1}, "adamw: beta2 is -0.1; it must be at least 0 and below 1");
    refuses(adamw{.epsilon = 0.0}, "adamw: epsilon is 0; it must be finite and above 0");
    refuses(clipped{sgd{}, 0.0}, "clipped: norm is 0; it must be finite and above 0");
    refuses(scheduled{sgd{.learning_rate = -1.0}, cosine{}},
            "sgd: learning_rate is -1; it must be finite and at least 0");
    CHECK_THROWS_AS(sgd{.learning_rate = nan}.bind(tensors), invalid_option);
    CHECK_THROWS_AS(adamw{.weight_decay = nan}.bind(tensors), invalid_option);
    CHECK_THROWS_AS((clipped{sgd{}, nan}.bind(tensors)), invalid_option);
    // 0 / 0 would be every learning rate of the first epochs.
    CHECK_THROWS_AS((scheduled{sgd{}, step_decay{.every_epochs = 0.0}}.bind(tensors)),
                    invalid_option);
}
