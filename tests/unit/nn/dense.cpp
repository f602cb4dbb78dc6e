#include "sotto/nn/dense.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "sotto/core/errors.hpp"
#include "sotto/nn/layer.hpp"
#include "unit/nn/layer_check.hpp"

using namespace sotto::nn;

static_assert(layer<dense>);

TEST_CASE("dense multiplies by its weight and adds its bias") {
    blueprint plan;
    auto state = dense{.outputs = 2}.bind({1, 1, 3}, plan);
    const std::array<float, 8> parameters{1, 2, 3, -1, 0, 1, 10, 20};
    const std::array<float, 6> in{1, 1, 1, 2, 0, -1};
    const auto out = state.forward(parameters, in);
    CHECK(nn_test::floats(out.begin(), out.end()) == nn_test::floats{16, 20, 9, 17});
}

TEST_CASE("dense names its tensors, weight first") {
    blueprint plan;
    dense{.outputs = 4}.bind({2, 3, 5}, plan);
    dense{.outputs = 1}.bind({4, 1, 1}, plan);
    const auto tensors = plan.tensors().tensors();
    REQUIRE(tensors.size() == 4);
    CHECK(tensors[0].name == "dense1.weight");
    CHECK(tensors[0].shape == std::vector<std::int64_t>{4, 30});
    CHECK(tensors[1].name == "dense1.bias");
    CHECK(tensors[1].kind == sotto::tensor_kind::bias);
    CHECK(tensors[2].name == "dense2.weight");
    CHECK(tensors[3].shape == std::vector<std::int64_t>{1});
}

TEST_CASE("the gradients of dense are its slopes") {
    nn_test::check_layer(dense{.outputs = 3}, {5, 1, 1}, 4, 0.5f);
    nn_test::check_layer(dense{.outputs = 1}, {1, 1, 1}, 1, 0.5f);
    nn_test::check_layer(dense{.outputs = 17}, {2, 3, 2}, 9, 0.5f);
}

TEST_CASE("dense refuses to have no outputs") {
    blueprint plan;
    CHECK_THROWS_WITH_AS((dense{.outputs = 0}.bind({3, 1, 1}, plan)),
                         "dense1: outputs is 0; expected 1 to 2147483647", sotto::invalid_option);
    CHECK_THROWS_AS((dense{.outputs = 5}.bind({3, 0, 1}, plan)), sotto::invalid_option);
    CHECK(plan.tensors().size() == 0);
}
