#include "sotto/nn/average_pool2d.hpp"

#include <doctest/doctest.h>

#include <array>

#include "sotto/core/errors.hpp"
#include "sotto/nn/layer.hpp"
#include "unit/nn/layer_check.hpp"

using namespace sotto::nn;

static_assert(layer<average_pool2d>);

TEST_CASE("average_pool2d takes the mean of every window") {
    const blueprint plan;
    auto state = average_pool2d{}.bind({1, 2, 4}, plan);
    const std::array<float, 8> in{1, 2, 10, 20, 3, 6, 30, 40};
    const auto out = state.forward({}, in);
    CHECK(nn_test::floats(out.begin(), out.end()) == nn_test::floats{3, 25});
}

TEST_CASE(
    "the gradient of average_pool2d is its slope, also where windows overlap or leave an edge") {
    for (const average_pool2d options : {average_pool2d{}, average_pool2d{.window = 3, .stride = 2},
                                         average_pool2d{.window = 2, .stride = 1}})
        nn_test::check_layer(options, {2, 5, 7}, 2, 0.5f);
}

TEST_CASE("average_pool2d refuses a window that does not fit") {
    const blueprint plan;
    CHECK_THROWS_AS((average_pool2d{.window = 5}.bind({1, 4, 8}, plan)), sotto::invalid_option);
    CHECK_THROWS_AS((average_pool2d{.stride = 0}.bind({1, 4, 8}, plan)), sotto::invalid_option);
}
