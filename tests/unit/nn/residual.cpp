#include "sotto/nn/residual.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/nn/batch_norm.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/conv2d.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/identity.hpp"
#include "sotto/nn/layer.hpp"
#include "sotto/nn/relu.hpp"
#include "sotto/nn/tanh.hpp"
#include "sotto/nn/detail/option_a_shortcut.hpp"
#include "unit/nn/layer_check.hpp"

namespace nn = sotto::nn;

static_assert(nn::layer<nn::identity>);
static_assert(nn::layer<sotto::detail::nn::option_a_shortcut>);
static_assert(nn::layer<nn::residual<nn::dense>>);
// What the docblock warns of: braces around one residual copy it.
static_assert(
    std::is_same_v<decltype(nn::residual{nn::residual{nn::dense{}}}), nn::residual<nn::dense>>);

TEST_CASE("the gradients of residual connections are their slopes") {
    nn_test::check_layer(nn::residual{nn::dense{.outputs = 5}}, {5, 1, 1}, 3, 0.5f);
    nn_test::check_layer(
        nn::residual{nn::chain{nn::dense{.outputs = 4}, nn::tanh{}, nn::dense{.outputs = 3}}},
        {3, 1, 1}, 3, 0.015625f, 1e-3);
    nn_test::check_layer(nn::residual{nn::conv2d{.channels = 3, .stride = 2, .padding = 1},
                                      nn::conv2d{.channels = 3, .kernel = 1, .stride = 2}},
                         {2, 5, 6}, 2, 0.5f);
    nn_test::check_layer(
        nn::residual{nn::conv2d{.channels = 4, .stride = 2, .padding = 1},
                     sotto::detail::nn::option_a_shortcut{.channels = 4, .stride = 2}},
        {2, 5, 6}, 2, 0.5f);
    nn_test::check_layer(nn::chain{nn::residual{nn::identity{}}, nn::dense{.outputs = 2}},
                         {3, 1, 1}, 2, 0.5f);
    nn_test::check_layer(
        nn::residual{
            nn::chain{nn::conv2d{.channels = 2, .padding = 1, .bias = false}, nn::batch_norm{}}},
        {2, 4, 4}, 2, 0.0078125f, 1e-3, nn_test::examples::together);
}

TEST_CASE("a rectified residual is a relu behind a plain one, to the bit") {
    const nn::dense inner{.outputs = 40};
    nn::blueprint plan, chain_plan;
    plan.add_bias("before", 1);
    chain_plan.add_bias("before", 1);
    auto rectified = nn::residual{inner, nn::identity{}, true}.bind({40, 1, 1}, plan);
    auto chain = nn::chain{nn::residual{inner}, nn::relu{}}.bind({40, 1, 1}, chain_plan);
    const auto parameters = nn_test::uniform(plan.tensors().size(), 1);
    const auto in = nn_test::uniform(3 * 40, 2), change = nn_test::uniform(3 * 40, 3);
    const auto out = rectified.forward(parameters, in), expected = chain.forward(parameters, in);
    CHECK(std::equal(out.begin(), out.end(), expected.begin(), expected.end()));
    nn_test::floats gradient(parameters.size()), other(parameters.size());
    const auto nothing = [](const sotto::tensor&) {};
    const auto dx = rectified.backward(parameters, in, change, gradient, nothing);
    const auto expected_dx = chain.backward(parameters, in, change, other, nothing);
    CHECK(gradient == other);
    CHECK(std::equal(dx.begin(), dx.end(), expected_dx.begin(), expected_dx.end()));
}

TEST_CASE("a residual at zero weights passes its input through") {
    nn::blueprint plan;
    auto state = nn::residual{nn::dense{.outputs = 6}}.bind({6, 1, 1}, plan);
    const nn_test::floats parameters(nn_test::count(plan.tensors().size()), 0.0f);
    const auto in = nn_test::uniform(12, 2);
    const auto out = state.forward(parameters, in);
    CHECK(std::equal(out.begin(), out.end(), in.begin(), in.end()));
}

TEST_CASE("option_a_shortcut keeps every stride-th pixel and adds channels of zeros") {
    nn::blueprint plan;
    auto state =
        sotto::detail::nn::option_a_shortcut{.channels = 3, .stride = 2}.bind({1, 3, 4}, plan);
    CHECK(state.output() == nn::shape{3, 2, 2});
    const nn_test::floats in{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const auto out = state.forward(in, in);
    CHECK(nn_test::floats(out.begin(), out.end()) ==
          nn_test::floats{0, 2, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0});
    nn_test::check_layer(sotto::detail::nn::option_a_shortcut{.channels = 5, .stride = 3},
                         {2, 7, 8}, 3, 0.5f);
    nn_test::check_layer(sotto::detail::nn::option_a_shortcut{.channels = 3}, {2, 17, 2}, 2, 0.5f);

    auto same = sotto::detail::nn::option_a_shortcut{.channels = 1}.bind({1, 3, 4}, plan);
    CHECK(same.forward(in, in).data() == in.data());
}

TEST_CASE("a residual names its layers' tensors first, then its shortcut's") {
    nn::blueprint plan;
    nn::residual{nn::chain{nn::conv2d{.channels = 4}, nn::batch_norm{}},
                 nn::conv2d{.channels = 4, .kernel = 3, .bias = false}}
        .bind({2, 6, 6}, plan);
    std::vector<std::string> names;
    for (const auto& t : plan.tensors()) names.push_back(t.name);
    CHECK(names == std::vector<std::string>{"conv1.weight", "conv1.bias", "batch_norm1.weight",
                                            "batch_norm1.bias", "conv2.weight"});
}

TEST_CASE(
    "residual refuses results that do not fit each other, option_a_shortcut to become narrower") {
    nn::blueprint plan;
    CHECK_THROWS_WITH_AS((nn::residual{nn::dense{.outputs = 3}}.bind({4, 1, 1}, plan)),
                         "residual1: the layers put out 3 x 1 x 1, the shortcut 4 x 1 x 1; "
                         "expected the same shape",
                         sotto::invalid_option);
    CHECK_THROWS_WITH_AS(
        (sotto::detail::nn::option_a_shortcut{.channels = 1}.bind({2, 4, 4}, plan)),
        "option_a_shortcut: channels is 1; expected at least the input's, 2",
        sotto::invalid_option);
    CHECK_THROWS_AS(
        (sotto::detail::nn::option_a_shortcut{.channels = 2, .stride = 0}.bind({2, 4, 4}, plan)),
        sotto::invalid_option);
}
