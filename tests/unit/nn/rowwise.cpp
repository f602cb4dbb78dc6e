#include "sotto/nn/rowwise.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/layer.hpp"
#include "sotto/nn/tanh.hpp"
#include "unit/nn/layer_check.hpp"

namespace nn = sotto::nn;

static_assert(nn::layer<nn::rowwise<nn::dense>>);

TEST_CASE("rowwise gives every row what the layer gives it alone") {
    nn::blueprint plan, alone_plan;
    auto rows = nn::rowwise{nn::dense{.outputs = 2}}.bind({3, 1, 4}, plan);
    auto alone = nn::dense{.outputs = 2}.bind({4, 1, 1}, alone_plan);
    CHECK(rows.output() == nn::shape{3, 1, 2});
    REQUIRE(plan.tensors().size() == alone_plan.tensors().size());
    CHECK(plan.tensors()[0].name == "dense1.weight");
    const auto parameters = nn_test::uniform(plan.tensors().size(), 1);
    const auto in = nn_test::uniform(2 * 3 * 4, 2);
    const auto out = rows.forward(parameters, in);
    REQUIRE(out.size() == 2 * 3 * 2);
    for (std::size_t row = 0; row < 6; ++row) {
        const auto one = alone.forward(parameters, std::span(in).subspan(4 * row, 4));
        for (std::size_t j = 0; j < 2; ++j)
            CHECK(out[2 * row + j] == doctest::Approx(one[j]).epsilon(1e-5));
    }
}

TEST_CASE("the gradients of rowwise layers are their slopes") {
    nn_test::check_layer(nn::rowwise{nn::dense{.outputs = 3}}, {4, 1, 5}, 2, 0.5f);
    nn_test::check_layer(nn::rowwise{nn::dense{.outputs = 3}}, {1, 2, 3}, 1, 0.5f);
    nn_test::check_layer(
        nn::rowwise{nn::chain{nn::dense{.outputs = 3}, nn::tanh{}, nn::dense{.outputs = 2}}},
        {3, 1, 4}, 2, 0.015625f, 1e-3);
}

TEST_CASE("rowwise passes on what its layer refuses") {
    nn::blueprint plan;
    CHECK_THROWS_AS((nn::rowwise{nn::dense{.outputs = 0}}.bind({3, 1, 4}, plan)),
                    sotto::invalid_option);
    CHECK_THROWS_AS((nn::rowwise{nn::dense{.outputs = 1}}.bind({0, 1, 4}, plan)),
                    sotto::invalid_option);
}
