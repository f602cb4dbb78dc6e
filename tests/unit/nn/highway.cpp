#include "sotto/nn/highway.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <span>

#include "sotto/core/errors.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/conv2d.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/layer.hpp"
#include "sotto/nn/relu.hpp"
#include "sotto/nn/tanh.hpp"
#include "unit/nn/layer_check.hpp"

namespace nn = sotto::nn;

static_assert(nn::layer<nn::highway<nn::dense, nn::dense>>);

TEST_CASE("the gradients of highways are their slopes, through layers, gate and input") {
    nn_test::check_layer(
        nn::highway{nn::chain{nn::dense{.outputs = 4}, nn::tanh{}}, nn::dense{.outputs = 4}},
        {4, 1, 1}, 3, 0.015625f, 1e-3);
    nn_test::check_layer(nn::highway{nn::conv2d{.channels = 2, .padding = 1},
                                     nn::conv2d{.channels = 2, .kernel = 1}},
                         {2, 3, 4}, 2, 0.0078125f, 1e-3);
}

TEST_CASE("a gate starts nearly closed, and passes the input through where it is") {
    nn::blueprint plan;
    auto state =
        nn::highway{nn::dense{.outputs = 6}, nn::dense{.outputs = 6}, -3.0}.bind({6, 1, 1}, plan);
    nn_test::floats parameters(nn_test::count(plan.tensors().size()));
    plan.initialise(parameters, sotto::random_stream{1});
    REQUIRE(plan.tensors().tensors().size() == 4);
    const auto bias = [&](std::int64_t t) {
        return plan.tensors()[t].of(std::span<float>(parameters));
    };
    for (const float b : bias(1)) CHECK(b == 0.0f);
    for (const float b : bias(3)) CHECK(b == -3.0f);

    const auto in = nn_test::uniform(12, 2);
    // Weights of the gate at 0: t = sigmoid(-3) everywhere, h(x) = its bias, 1.
    std::ranges::fill(bias(0), 0.0f);
    std::ranges::fill(bias(2), 0.0f);
    std::ranges::fill(bias(1), 1.0f);
    const double open = 1.0 / (1.0 + std::exp(3.0));
    const auto out = state.forward(parameters, in);
    for (std::size_t i = 0; i < in.size(); ++i)
        CHECK(out[i] == doctest::Approx(open + (1.0 - open) * in[i]));
    std::ranges::fill(bias(3), -200.0f);
    const auto closed = state.forward(parameters, in);
    CHECK(std::equal(closed.begin(), closed.end(), in.begin(), in.end()));
}

TEST_CASE("a gate's last biases alone start at gate_bias") {
    nn::blueprint plan;
    nn::highway{nn::dense{.outputs = 4},
                nn::chain{nn::dense{.outputs = 7}, nn::relu{}, nn::dense{.outputs = 4}}}
        .bind({4, 1, 1}, plan);
    nn_test::floats parameters(nn_test::count(plan.tensors().size()));
    plan.initialise(parameters, sotto::random_stream{1});
    REQUIRE(plan.tensors().tensors().size() == 6);
    for (const float b : plan.tensors()[3].of(std::span<float>(parameters))) CHECK(b == 0.0f);
    for (const float b : plan.tensors()[5].of(std::span<float>(parameters))) CHECK(b == -2.0f);
}

TEST_CASE("a gate without a bias at its end starts half open, or is refused") {
    const nn::conv2d plain{.channels = 2, .kernel = 1, .bias = false};
    nn::blueprint plan, other;
    CHECK_THROWS_WITH_AS((nn::highway{plain, plain}.bind({2, 3, 3}, plan)),
                         "highway1: gate_bias is -2.000000; expected 0, since the gate does not "
                         "end with a bias",
                         sotto::invalid_option);
    CHECK_NOTHROW((nn::highway{plain, plain, 0.0}.bind({2, 3, 3}, other)));
}

TEST_CASE("highway refuses layers and gates that change the shape, and a bias that is no number") {
    nn::blueprint plan;
    CHECK_THROWS_WITH_AS(
        (nn::highway{nn::dense{.outputs = 3}, nn::dense{.outputs = 4}}.bind({4, 1, 1}, plan)),
        "highway1: the layers put out 3 x 1 x 1, the gate 4 x 1 x 1; expected 4 x 1 x 1, the "
        "input's shape",
        sotto::invalid_option);
    CHECK_THROWS_AS(
        (nn::highway{nn::dense{.outputs = 4}, nn::dense{.outputs = 3}}.bind({4, 1, 1}, plan)),
        sotto::invalid_option);
    CHECK_THROWS_AS(
        (nn::highway{nn::dense{.outputs = 4}, nn::dense{.outputs = 4}, std::nan("")}.bind({4, 1, 1},
                                                                                          plan)),
        sotto::invalid_option);
}
