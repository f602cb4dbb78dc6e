#include "sotto/nn/global_average_pool.hpp"

#include <doctest/doctest.h>

#include <array>

#include "sotto/nn/layer.hpp"
#include "unit/nn/layer_check.hpp"

using namespace sotto::nn;

static_assert(layer<global_average_pool>);

TEST_CASE("global_average_pool leaves the mean of every plane") {
    const blueprint plan;
    auto state = global_average_pool{}.bind({2, 1, 3}, plan);
    CHECK(state.output() == shape{2, 1, 1});
    const std::array<float, 6> in{1, 2, 6, -1, -2, -3};
    const auto out = state.forward({}, in);
    CHECK(out[0] == doctest::Approx(3.0));
    CHECK(out[1] == doctest::Approx(-2.0));
}

TEST_CASE("the gradient of global_average_pool is its slope") {
    nn_test::check_layer(global_average_pool{}, {3, 4, 5}, 2, 0.5f);
}
