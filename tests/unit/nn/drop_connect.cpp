#include "sotto/nn/drop_connect.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>

#include "sotto/core/errors.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/layer.hpp"
#include "unit/nn/layer_check.hpp"

using namespace sotto::nn;

static_assert(layer<drop_connect>);

TEST_CASE("the gradients of drop_connect are its slopes under one mask") {
    nn_test::check_layer(drop_connect{{.outputs = 5}, 0.5}, {2, 2, 3}, 4, 0.5f);
    nn_test::check_layer(chain{drop_connect{{.outputs = 5}, 0.25}, drop_connect{{.outputs = 2}}},
                         {4, 1, 1}, 3, 0.5f);
}

TEST_CASE("at rate 0 and in evaluation drop_connect is a dense layer, to the bit") {
    blueprint plan, dense_plan;
    auto whole = drop_connect{{.outputs = 7}, 0.0}.bind({9, 1, 1}, plan);
    auto halved = drop_connect{{.outputs = 7}, 0.5}.bind({9, 1, 1}, plan);
    auto like = dense{.outputs = 7}.bind({9, 1, 1}, dense_plan);
    const auto parameters = nn_test::uniform(70, 1), in = nn_test::uniform(3 * 9, 2);
    nn_test::floats both(parameters);
    both.insert(both.end(), parameters.begin(), parameters.end());
    const auto expected = like.forward(parameters, in);
    const auto out = whole.forward(both, in);
    CHECK(std::equal(out.begin(), out.end(), expected.begin(), expected.end()));
    pass at(both);
    at.training = false;
    const auto evaluated = halved.forward(at, in);
    CHECK(std::equal(evaluated.begin(), evaluated.end(), expected.begin(), expected.end()));
}

TEST_CASE("drop_connect drops its share of the weights, the same for the whole batch") {
    const std::int64_t n = 200;
    blueprint plan;
    auto state = drop_connect{{.outputs = n}, 0.75}.bind({n, 1, 1}, plan);
    nn_test::floats parameters(nn_test::count(plan.tensors().size()), 0.0f);
    std::fill_n(parameters.begin(), n * n, 1.0f);
    nn_test::floats in(nn_test::count(2 * n), 1.0f), direction(in);
    pass at(parameters);
    at.random = sotto::random_stream{3};
    const auto out = state.forward(at, in);
    double kept = 0.0;
    for (std::size_t i = 0; i < nn_test::count(n); ++i) {
        CHECK(out[i] == out[nn_test::count(n) + i]);
        kept += out[i] / 4.0;  // each weight that stays counts four times
    }
    CHECK(std::abs(kept - 0.25 * 40'000) < 5.0 * std::sqrt(40'000 * 0.25 * 0.75));
    // A weight that was dropped gets no gradient.
    nn_test::floats gradient(parameters.size());
    state.backward(parameters, in, direction, gradient, [](const auto&) {});
    double moved = 0.0;
    for (std::int64_t i = 0; i < n * n; ++i) {
        const float g = gradient[nn_test::count(i)];
        CHECK((g == 0.0f || g == 8.0f));
        moved += g / 8.0;
    }
    CHECK(moved == kept);
}

TEST_CASE("drop_connect names its tensors after itself and refuses what cannot work") {
    blueprint plan;
    drop_connect{{.outputs = 3}, 0.5}.bind({4, 1, 1}, plan);
    CHECK(plan.tensors()[0].name == "drop_connect1.weight");
    CHECK(plan.tensors()[1].name == "drop_connect1.bias");
    CHECK_THROWS_WITH_AS((drop_connect{{.outputs = 0}, 0.5}.bind({4, 1, 1}, plan)),
                         "drop_connect2: outputs is 0; expected 1 to 2147483647",
                         sotto::invalid_option);
    CHECK_THROWS_AS((drop_connect{{.outputs = 3}, 1.0}.bind({4, 1, 1}, plan)),
                    sotto::invalid_option);
}
