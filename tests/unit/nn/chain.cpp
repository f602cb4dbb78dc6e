#include "sotto/nn/chain.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/nn/average_pool2d.hpp"
#include "sotto/nn/conv2d.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/layer.hpp"
#include "sotto/nn/repeated.hpp"
#include "sotto/nn/tanh.hpp"
#include "unit/nn/layer_check.hpp"

namespace nn = sotto::nn;

TEST_CASE("a chain binds its layers from first to last, and numbers them by kind") {
    nn::blueprint plan;
    const nn::chain layers{nn::conv2d{.channels = 2}, nn::tanh{}, nn::conv2d{.channels = 3},
                           nn::average_pool2d{}, nn::dense{.outputs = 4}};
    static_assert(nn::layer<std::remove_cv_t<decltype(layers)>>);
    const auto state = layers.bind({1, 8, 8}, plan);
    CHECK(state.output() == nn::shape{4, 1, 1});
    std::vector<std::string> names;
    for (const auto& t : plan.tensors()) names.push_back(t.name);
    CHECK(names == std::vector<std::string>{"conv1.weight", "conv1.bias", "conv2.weight",
                                            "conv2.bias", "dense1.weight", "dense1.bias"});
    CHECK(plan.tensors().find("dense1.weight")->shape == std::vector<std::int64_t>{4, 3 * 2 * 2});
}

TEST_CASE("the gradients of chains, also of chains of chains, are their slopes") {
    nn_test::check_layer(nn::chain{nn::dense{.outputs = 3}, nn::tanh{}, nn::dense{.outputs = 2}},
                         {4, 1, 1}, 3, 0.015625f, 1e-3);
    nn_test::check_layer(nn::chain{nn::chain{nn::conv2d{.channels = 2}, nn::tanh{}},
                                   nn::average_pool2d{}, nn::chain{nn::dense{.outputs = 2}}},
                         {1, 6, 6}, 2, 0.015625f, 1e-3);
}

TEST_CASE("the gradients of repeated layers are their slopes, for any number of them") {
    const nn::chain block{nn::dense{.outputs = 3}, nn::tanh{}};
    for (const std::size_t times : {0u, 1u, 3u}) {
        const nn::repeated<decltype(nn::chain{nn::dense{}, nn::tanh{}})> hidden{{times, block}};
        nn_test::check_layer(hidden, {4, 1, 1}, 2, 0.015625f, 1e-3);
        nn_test::check_layer(nn::chain{hidden, nn::dense{.outputs = 2}}, {4, 1, 1}, 2, 0.015625f,
                             1e-3);
    }
}

TEST_CASE("a layer in front of the first parameter is not asked for a gradient") {
    nn::blueprint plan;
    auto state = nn::chain{nn::average_pool2d{}, nn::dense{.outputs = 2}}.bind({1, 4, 4}, plan);
    const auto parameters = nn_test::uniform(plan.tensors().size(), 1);
    const auto in = nn_test::uniform(3 * 16, 2), change = nn_test::uniform(3 * 2, 3);
    nn_test::floats gradient(parameters.size());
    state.forward(parameters, in);
    CHECK(state.backward(parameters, in, change, gradient, [](const auto&) {}).empty());
}
