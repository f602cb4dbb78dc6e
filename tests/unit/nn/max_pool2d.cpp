#include "sotto/nn/max_pool2d.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/nn/layer.hpp"
#include "unit/nn/layer_check.hpp"

using namespace sotto::nn;

static_assert(layer<max_pool2d>);

TEST_CASE("max_pool2d takes the largest of every window, and the first of equals") {
    blueprint plan;
    plan.add_bias("before", 1);
    auto state = max_pool2d{}.bind({1, 4, 4}, plan);
    const std::array<float, 16> in{1,  5,  2, 2,  //
                                   3,  4,  2, 2,  //
                                   -1, -2, 0, 7,  //
                                   -3, -4, 8, 6};
    const auto out = state.forward({}, in);
    CHECK(nn_test::floats(out.begin(), out.end()) == nn_test::floats{5, 2, -1, 8});
    const std::array<float, 4> change{1, 2, 3, 4};
    const auto back = state.backward({}, in, change, {}, [](const sotto::tensor&) {});
    CHECK(nn_test::floats(back.begin(), back.end()) ==
          nn_test::floats{0, 1, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 4, 0});
}

TEST_CASE("the gradient of max_pool2d is its slope, also where windows overlap or leave an edge") {
    for (const max_pool2d options :
         {max_pool2d{}, max_pool2d{.window = 3, .stride = 2}, max_pool2d{.window = 2, .stride = 1},
          max_pool2d{.window = 1, .stride = 3}})
        nn_test::check_layer(options, {2, 5, 7}, 2, 0.015625f);
}

TEST_CASE("the two ways of finding a maximum in a window of four agree") {
    blueprint plan;
    plan.add_bias("before", 1);
    auto pairs = max_pool2d{}.bind({1, 2, 2}, plan);
    const std::array<float, 3> values{0.0f, 1.0f, 2.0f};
    for (std::size_t code = 0; code < 81; ++code) {
        const std::array<float, 4> in{values[code % 3], values[code / 3 % 3], values[code / 9 % 3],
                                      values[code / 27]};
        const std::size_t expected =
            static_cast<std::size_t>(std::max_element(in.begin(), in.end()) - in.begin());
        CHECK(pairs.forward({}, in)[0] == in[expected]);
        const std::array<float, 1> one{1.0f};
        CHECK(pairs.backward({}, in, one, {}, [](const sotto::tensor&) {})[expected] == 1.0f);
    }
}

TEST_CASE("max_pool2d refuses a window that does not fit") {
    const blueprint plan;
    CHECK_THROWS_AS((max_pool2d{.window = 5}.bind({1, 4, 8}, plan)), sotto::invalid_option);
    CHECK_THROWS_AS((max_pool2d{.window = 0}.bind({1, 4, 8}, plan)), sotto::invalid_option);
    CHECK_THROWS_AS((max_pool2d{.stride = 0}.bind({1, 4, 8}, plan)), sotto::invalid_option);
}
