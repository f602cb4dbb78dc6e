#include "sotto/nn/batch_norm.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/layer.hpp"
#include "unit/nn/layer_check.hpp"

using namespace sotto::nn;
using nn_test::count;

static_assert(layer<batch_norm>);

namespace {

struct moments {
    double mean = 0.0;
    double variance = 0.0;  // biased
};

moments of_channel(std::span<const float> values, shape each, std::int64_t channel) {
    std::vector<double> found;
    for (std::int64_t n = 0; n < examples_in(values, each); ++n)
        for (std::int64_t p = 0; p < each.plane(); ++p)
            found.push_back(values[count((n * each.channels + channel) * each.plane() + p)]);
    moments m;
    for (const double x : found) m.mean += x / static_cast<double>(found.size());
    for (const double x : found)
        m.variance += (x - m.mean) * (x - m.mean) / static_cast<double>(found.size());
    return m;
}

}  // namespace

TEST_CASE("batch_norm gives every channel mean beta and standard deviation gamma") {
    for (const shape each : {shape{3, 4, 5}, shape{2, 32, 32}, shape{7, 1, 1}}) {
        blueprint plan;
        auto state = batch_norm{}.bind(each, plan);
        nn_test::passes run(plan);
        nn_test::floats parameters(count(plan.tensors().size()));
        for (std::int64_t c = 0; c < each.channels; ++c) {
            parameters[count(c)] = 0.5f + static_cast<float>(c);
            parameters[count(each.channels + c)] = 3.0f - static_cast<float>(c);
        }
        const auto in = nn_test::uniform(6 * each.size(), 5);
        const auto out = state.forward(run.training(parameters), in);
        for (std::int64_t c = 0; c < each.channels; ++c) {
            CAPTURE(c);
            const moments before = of_channel(in, each, c), after = of_channel(out, each, c);
            CHECK(after.mean == doctest::Approx(3.0 - static_cast<double>(c)).scale(1.0));
            const double scale = (0.5 + static_cast<double>(c)) / std::sqrt(before.variance + 1e-5);
            CHECK(std::sqrt(after.variance) ==
                  doctest::Approx(scale * std::sqrt(before.variance)).epsilon(1e-5));
        }
    }
}

TEST_CASE("the gradients of batch_norm are its slopes, through mean and variance") {
    const auto together = nn_test::examples::together;
    nn_test::check_layer(batch_norm{}, {2, 2, 3}, 3, 0.0078125f, 1e-3, together);
    nn_test::check_layer(batch_norm{}, {3, 1, 1}, 5, 0.0078125f, 1e-3, together);
    nn_test::check_layer(batch_norm{.epsilon = 0.5}, {1, 9, 9}, 2, 0.0078125f, 1e-3, together);
    nn_test::check_layer(chain{dense{.outputs = 4}, batch_norm{}, dense{.outputs = 2}}, {3, 1, 1},
                         4, 0.0078125f, 2e-3, together);
}

TEST_CASE("a rectified batch_norm cuts off below 0 and lets no gradient through there") {
    const shape each{2, 8, 8};
    blueprint plan, rectified_plan;
    plan.add_bias("before", 1);
    rectified_plan.add_bias("before", 1);
    auto plain = batch_norm{}.bind(each, plan);
    auto rectified = batch_norm{.rectified = true}.bind(each, rectified_plan);
    const auto parameters = nn_test::uniform(plan.tensors().size(), 1);
    const auto in = nn_test::uniform(3 * each.size(), 2),
               direction = nn_test::uniform(3 * each.size(), 3);
    const auto y = plain.forward(parameters, in), cut = rectified.forward(parameters, in);
    auto through = direction;
    std::size_t negative = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        CHECK(cut[i] == (y[i] < 0.0f ? 0.0f : y[i]));
        if (y[i] > 0.0f) continue;
        through[i] = 0.0f;
        ++negative;
    }
    CHECK(negative > y.size() / 10);
    CHECK(negative < y.size() * 9 / 10);
    nn_test::floats gradient(parameters.size()), cut_gradient(parameters.size());
    const auto nothing = [](const sotto::tensor&) {};
    const auto dx = plain.backward(parameters, in, through, gradient, nothing);
    const auto cut_dx = rectified.backward(parameters, in, direction, cut_gradient, nothing);
    CHECK(gradient == cut_gradient);
    CHECK(std::equal(dx.begin(), dx.end(), cut_dx.begin(), cut_dx.end()));
}

TEST_CASE("batch_norm names two tensors of the kind normalisation, and two buffers") {
    blueprint plan;
    batch_norm{}.bind({5, 2, 2}, plan);
    batch_norm{}.bind({4, 2, 2}, plan);
    REQUIRE(plan.tensors().tensors().size() == 4);
    CHECK(plan.tensors()[0].name == "batch_norm1.weight");
    CHECK(plan.tensors()[3].name == "batch_norm2.bias");
    for (const auto& t : plan.tensors()) CHECK(t.kind == sotto::tensor_kind::normalisation);
    CHECK(plan.buffers()[0].name == "batch_norm1.running_mean");
    CHECK(plan.buffers()[3].name == "batch_norm2.running_variance");
    nn_test::floats parameters(18, 7.0f), buffers(18, 7.0f), expected(18, 0.0f);
    plan.initialise(parameters, sotto::random_stream{1});
    plan.reset(buffers);
    std::fill_n(expected.begin(), 5, 1.0f);
    std::fill_n(expected.begin() + 10, 4, 1.0f);
    CHECK(parameters == expected);
    std::fill_n(expected.begin(), 10, 0.0f);
    std::fill_n(expected.begin() + 5, 5, 1.0f);
    std::fill_n(expected.begin() + 10, 4, 0.0f);
    std::fill_n(expected.begin() + 14, 4, 1.0f);
    CHECK(buffers == expected);
}

TEST_CASE("training moves the buffers towards the batch's mean and unbiased variance") {
    blueprint plan;
    auto state = batch_norm{.momentum = 0.25}.bind({1, 1, 2}, plan);
    nn_test::passes run(plan);
    const nn_test::floats parameters{2.0f, 1.0f};
    // Mean 3, squared deviations 4 + 0 + 0 + 4: 2 biased, 8/3 unbiased.
    const nn_test::floats in{1.0f, 3.0f, 3.0f, 5.0f};
    state.forward(run.training(parameters), in);
    CHECK(run.buffers()[0] == 0.0f);
    CHECK(run.buffers()[1] == 1.0f);
    CHECK(run.next_buffers()[0] == 0.75f);
    CHECK(run.next_buffers()[1] == doctest::Approx(0.75 + 0.25 * 8.0 / 3.0));
    // In place, and evaluation by what they became.
    auto at = run.training(parameters);
    at.next_buffers = run.buffers();
    state.forward(at, in);
    CHECK(run.buffers()[0] == 0.75f);
    at.training = false;
    const auto out = state.forward(at, in);
    const double deviation = std::sqrt(0.75 + 0.25 * 8.0 / 3.0 + 1e-5);
    for (std::size_t i = 0; i < in.size(); ++i)
        CHECK(out[i] == doctest::Approx(2.0 * (in[i] - 0.75) / deviation + 1.0));
    CHECK(run.buffers()[0] == 0.75f);
}

TEST_CASE("a single value for each channel has no variance: the output is beta, and dx is 0") {
    blueprint plan;
    plan.add_bias("before", 1);
    auto state = batch_norm{}.bind({3, 1, 1}, plan);
    nn_test::passes run(plan);
    const auto parameters = nn_test::uniform(7, 4);
    const nn_test::floats in{4.0f, -2.0f, 0.5f}, direction{1.0f, 2.0f, 3.0f};
    const auto out = state.forward(run.training(parameters), in);
    nn_test::floats gradient(7);
    const auto dx = state.backward(parameters, in, direction, gradient, [](const auto&) {});
    for (std::size_t c = 0; c < 3; ++c) {
        CHECK(out[c] == parameters[4 + c]);
        CHECK(dx[c] == 0.0f);
        CHECK(gradient[1 + c] == 0.0f);
        CHECK(gradient[4 + c] == direction[c]);
        CHECK(run.next_buffers()[c] == doctest::Approx(0.1 * in[c]));
        CHECK(run.next_buffers()[3 + c] == 1.0f);
    }
}

TEST_CASE("the variance of values far from 0 keeps its digits") {
    blueprint plan;
    auto state = batch_norm{.momentum = 1.0}.bind({1, 32, 32}, plan);
    nn_test::passes run(plan);
    // Multiples of 2^-10 around 1000, exact in a float; squares of such values are not.
    auto in = nn_test::uniform(8 * 1024, 6);
    for (float& x : in) x = 1000.0f + std::round(x * 1024.0f) * 0x1p-10f;
    state.forward(run.training(nn_test::floats{1.0f, 0.0f}), in);
    const moments found = of_channel(in, {1, 32, 32}, 0);
    CHECK(run.next_buffers()[0] == doctest::Approx(found.mean).epsilon(1e-7));
    CHECK(run.next_buffers()[1] == doctest::Approx(found.variance * 8192.0 / 8191.0).epsilon(1e-5));
}

TEST_CASE("batch_norm refuses options that cannot work") {
    blueprint plan;
    CHECK_THROWS_WITH_AS((batch_norm{.momentum = 1.5}.bind({1, 2, 2}, plan)),
                         "batch_norm1: momentum is 1.5; it must be at least 0 and at most 1",
                         sotto::invalid_option);
    CHECK_THROWS_AS((batch_norm{.momentum = std::nan("")}.bind({1, 2, 2}, plan)),
                    sotto::invalid_option);
    CHECK_THROWS_WITH_AS((batch_norm{.epsilon = 0.0}.bind({1, 2, 2}, plan)),
                         "batch_norm3: epsilon is 0; it must be finite and above 0",
                         sotto::invalid_option);
    CHECK_THROWS_AS((batch_norm{}.bind({0, 2, 2}, plan)), sotto::invalid_option);
    CHECK(plan.tensors().size() == 0);
}
