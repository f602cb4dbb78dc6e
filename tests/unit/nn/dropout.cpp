#include "sotto/nn/dropout.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/layer.hpp"
#include "unit/nn/layer_check.hpp"

using namespace sotto::nn;

static_assert(layer<dropout>);

TEST_CASE("the gradients of dropout are its slopes under one mask") {
    nn_test::check_layer(dropout{.rate = 0.5}, {3, 4, 5}, 3, 0.5f);
    nn_test::check_layer(dropout{.rate = 0.0}, {7, 1, 1}, 2, 0.5f);
    nn_test::check_layer(chain{dense{.outputs = 9}, dropout{.rate = 0.25}, dense{.outputs = 2}},
                         {4, 1, 1}, 3, 0.5f);
}

TEST_CASE("dropout leaves out its share and enlarges the rest: the mean stays") {
    blueprint plan;
    for (const double rate : {0.1, 0.5, 0.9}) {
        CAPTURE(rate);
        auto state = dropout{.rate = rate}.bind({100, 10, 10}, plan);
        const nn_test::floats ones(40'000, 1.0f);
        pass at(ones);
        at.random = sotto::random_stream{5};
        double dropped = 0.0;
        for (const float y : state.forward(at, ones)) {
            if (y == 0.0f)
                ++dropped;
            else
                CHECK(y == static_cast<float>(1.0 / (1.0 - rate)));
        }
        // Five standard deviations of a binomial count.
        CHECK(std::abs(dropped - 40'000 * rate) < 5.0 * std::sqrt(40'000 * rate * (1.0 - rate)));
    }
}

TEST_CASE("a mask follows from the pass's stream and the layer's name") {
    blueprint plan, same;
    auto first = dropout{}.bind({64, 1, 1}, plan), second = dropout{}.bind({64, 1, 1}, plan);
    auto twin = dropout{}.bind({64, 1, 1}, same);
    const nn_test::floats in(64, 1.0f);
    const auto drawn = [&](dropout::state& layer, std::uint64_t seed) {
        pass at(in);
        at.random = sotto::random_stream{seed};
        const auto out = layer.forward(at, in);
        return nn_test::floats(out.begin(), out.end());
    };
    const auto mask = drawn(first, 1);
    CHECK(drawn(first, 2) != mask);
    CHECK(drawn(second, 1) != mask);
    CHECK(drawn(twin, 1) == mask);
    CHECK(drawn(first, 1) == mask);
}

TEST_CASE("evaluation passes the input itself through, both ways") {
    blueprint plan;
    auto state = dropout{}.bind({8, 1, 1}, plan);
    const auto in = nn_test::uniform(16, 1), change = nn_test::uniform(16, 2);
    pass at(in);
    at.training = false;
    CHECK(state.forward(at, in).data() == in.data());
    CHECK(state.activations(in).data() == in.data());
    CHECK(state.backward(in, in, change, {}, [](const auto&) {}).data() == change.data());
}

TEST_CASE("dropout refuses a rate at which nothing is left, or none") {
    blueprint plan;
    CHECK_THROWS_WITH_AS((dropout{.rate = 1.0}.bind({8, 1, 1}, plan)),
                         "dropout1: rate is 1; it must be at least 0 and below 1",
                         sotto::invalid_option);
    CHECK_THROWS_AS((dropout{.rate = -0.1}.bind({8, 1, 1}, plan)), sotto::invalid_option);
    CHECK_THROWS_AS((dropout{.rate = std::nan("")}.bind({8, 1, 1}, plan)), sotto::invalid_option);
}
