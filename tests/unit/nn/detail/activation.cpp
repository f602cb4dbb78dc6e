#include "sotto/nn/detail/activation.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>

#include "sotto/nn/layer.hpp"
#include "sotto/nn/relu.hpp"
#include "sotto/nn/sigmoid.hpp"
#include "sotto/nn/tanh.hpp"
#include "unit/nn/layer_check.hpp"

namespace nn = sotto::nn;

static_assert(nn::layer<nn::relu> && nn::layer<nn::sigmoid> && nn::layer<nn::tanh>);

namespace {

template <class Function>
float at(float x) {
    const nn::blueprint plan;
    auto state = Function{}.bind({1, 1, 1}, plan);
    const std::array<float, 1> in{x};
    return state.forward({}, in)[0];
}

}  // namespace

TEST_CASE("activations are the functions they are named after") {
    for (const float x : {-100.0f, -2.5f, -0.5f, 0.0f, 0.75f, 3.0f, 100.0f}) {
        CHECK(at<nn::relu>(x) == (x < 0.0f ? 0.0f : x));
        CHECK(at<nn::tanh>(x) == doctest::Approx(std::tanh(double{x})));
        CHECK(at<nn::sigmoid>(x) == doctest::Approx(1.0 / (1.0 + std::exp(-double{x}))));
    }
    const float nan = std::nanf("");
    CHECK(std::isnan(at<nn::relu>(nan)));
    CHECK(std::isnan(at<nn::tanh>(nan)));
    CHECK(std::isnan(at<nn::sigmoid>(nan)));
}

TEST_CASE("the gradients of activations are their slopes") {
    for (const std::int64_t width : {1, 7, 8, 33}) {
        nn_test::check_layer(nn::relu{}, {1, 1, width}, 2, 0.015625f);
        nn_test::check_layer(nn::tanh{}, {1, 1, width}, 2, 0.015625f);
        nn_test::check_layer(nn::sigmoid{}, {1, 1, width}, 2, 0.015625f);
    }
}
