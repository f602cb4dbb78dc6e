#include "sotto/nn/conv2d.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/nn/layer.hpp"
#include "unit/nn/layer_check.hpp"

using namespace sotto::nn;
using nn_test::count;

static_assert(layer<conv2d>);

namespace {

// The definition, one term at a time.
std::vector<double> by_definition(const conv2d& c, shape in, shape out,
                                  const nn_test::floats& parameters, const nn_test::floats& images,
                                  std::int64_t batch) {
    const std::int64_t k = c.kernel, weights = c.channels * in.channels * k * k;
    std::vector<double> result;
    for (std::int64_t n = 0; n < batch; ++n)
        for (std::int64_t o = 0; o < c.channels; ++o)
            for (std::int64_t row = 0; row < out.height; ++row)
                for (std::int64_t column = 0; column < out.width; ++column) {
                    double sum = parameters[count(weights + o)];
                    for (std::int64_t i = 0; i < in.channels * k * k; ++i) {
                        const std::int64_t y = row * c.stride + i / k % k - c.padding;
                        const std::int64_t x = column * c.stride + i % k - c.padding;
                        if (y < 0 || y >= in.height || x < 0 || x >= in.width) continue;
                        const std::int64_t plane = n * in.channels + i / (k * k);
                        sum += double{parameters[count(o * in.channels * k * k + i)]} *
                               images[count((plane * in.height + y) * in.width + x)];
                    }
                    result.push_back(sum);
                }
    return result;
}

}  // namespace

TEST_CASE("conv2d is the sum that defines it, at every kernel, stride and padding") {
    const shape in{2, 7, 9};
    for (std::int64_t kernel = 1; kernel <= 4; ++kernel)
        for (std::int64_t stride = 1; stride <= 3; ++stride)
            for (std::int64_t padding = 0; padding < kernel; ++padding) {
                CAPTURE(kernel);
                CAPTURE(stride);
                CAPTURE(padding);
                const conv2d options{
                    .channels = 3, .kernel = kernel, .stride = stride, .padding = padding};
                blueprint plan;
                auto state = options.bind(in, plan);
                CHECK(state.output().height == (in.height + 2 * padding - kernel) / stride + 1);
                CHECK(state.output().width == (in.width + 2 * padding - kernel) / stride + 1);
                const auto parameters = nn_test::uniform(plan.tensors().size(), 4);
                const auto images = nn_test::uniform(2 * in.size(), 5);
                const auto out = state.forward(parameters, images);
                const auto expected =
                    by_definition(options, in, state.output(), parameters, images, 2);
                REQUIRE(out.size() == expected.size());
                nn_test::check_near(out, expected, 1e-5);
            }
}

TEST_CASE("the gradients of conv2d are its slopes") {
    nn_test::check_layer(conv2d{.channels = 2, .kernel = 3}, {2, 5, 6}, 3, 0.5f);
    nn_test::check_layer(conv2d{.channels = 3, .kernel = 3, .padding = 1}, {1, 4, 4}, 2, 0.5f);
    nn_test::check_layer(conv2d{.channels = 2, .kernel = 3, .stride = 2, .padding = 2}, {2, 5, 4},
                         2, 0.5f);
    nn_test::check_layer(conv2d{.channels = 4, .kernel = 1}, {3, 3, 2}, 2, 0.5f);
    nn_test::check_layer(conv2d{.channels = 2, .kernel = 2}, {1, 11, 13}, 1, 0.5f);
}

TEST_CASE("conv2d is the sum that defines it where its rows are whole octets") {
    for (const shape in : {shape{3, 8, 8}, shape{2, 16, 16}, shape{5, 6, 24}, shape{1, 9, 40}})
        for (const std::int64_t channels : {1, 3, 8, 21})
            for (const std::int64_t stride : {1, 2}) {
                for (const std::int64_t kernel : {1, 2, 3, 5}) {
                    CAPTURE(to_string(in));
                    CAPTURE(channels);
                    CAPTURE(kernel);
                    CAPTURE(stride);
                    const conv2d options{.channels = channels,
                                         .kernel = kernel,
                                         .stride = stride,
                                         .padding = kernel / 2,
                                         .bias = channels != 3};
                    blueprint plan;
                    auto state = options.bind(in, plan);
                    auto parameters = nn_test::uniform(plan.tensors().size(), 4);
                    const auto images = nn_test::uniform(3 * in.size(), 5);
                    const auto out = state.forward(parameters, images);
                    if (!options.bias) parameters.resize(parameters.size() + count(channels));
                    const auto expected =
                        by_definition(options, in, state.output(), parameters, images, 3);
                    REQUIRE(out.size() == expected.size());
                    nn_test::check_near(out, expected, 1e-5);
                }
            }
}

// y = W x is linear in both: <dy, W x> = <W^T dy, x> = <dW, W> binds the three passes together,
// whatever kernels they take.
TEST_CASE("the passes of conv2d are transposes of each other, at every shape") {
    for (const shape in : {shape{3, 8, 8}, shape{2, 16, 16}, shape{4, 6, 24}, shape{17, 4, 32},
                           shape{1, 9, 40}, shape{2, 7, 13}, shape{9, 10, 16}})
        for (const std::int64_t channels : {1, 5, 16})
            for (const std::int64_t stride : {1, 2, 3})
                for (std::int64_t kernel = 1; kernel <= 5; kernel += 2)
                    for (std::int64_t padding = 0; padding < kernel; ++padding) {
                        if (kernel > in.height + 2 * padding) continue;
                        CAPTURE(to_string(in));
                        CAPTURE(channels);
                        CAPTURE(stride);
                        CAPTURE(kernel);
                        CAPTURE(padding);
                        const conv2d options{.channels = channels,
                                             .kernel = kernel,
                                             .stride = stride,
                                             .padding = padding,
                                             .bias = false};
                        blueprint plan;
                        plan.add_bias("before", 1);
                        auto state = options.bind(in, plan);
                        const auto parameters = nn_test::uniform(plan.tensors().size(), 4);
                        const auto images = nn_test::uniform(3 * in.size(), 5);
                        const auto y = state.forward(parameters, images);
                        const auto dy = nn_test::uniform(3 * state.output().size(), 6);
                        nn_test::floats gradient(parameters.size());
                        const auto dx =
                            state.backward(parameters, images, dy, gradient, [](const auto&) {});
                        const double value = nn_test::dot(y, dy);
                        // Rounding of as many products as there are, one part in 2^24 each.
                        const double close = 1e-4 * std::sqrt(static_cast<double>(y.size()));
                        CHECK(std::abs(nn_test::dot(dx, images) - value) <= close);
                        CHECK(std::abs(nn_test::dot(std::span(gradient).subspan(1),
                                                    std::span(parameters).subspan(1)) -
                                       value) <= close);
                    }
}

TEST_CASE("the gradients of conv2d are its slopes where its rows are whole octets") {
    nn_test::check_layer(conv2d{.channels = 9, .padding = 1}, {2, 3, 8}, 2, 0.5f);
    nn_test::check_layer(conv2d{.channels = 2, .padding = 1, .bias = false}, {1, 2, 16}, 3, 0.5f);
    nn_test::check_layer(conv2d{.channels = 3, .stride = 2, .padding = 1}, {2, 4, 16}, 2, 0.5f);
    nn_test::check_layer(conv2d{.channels = 3, .kernel = 1, .stride = 2}, {2, 2, 16}, 2, 0.5f);
    nn_test::check_layer(conv2d{.channels = 2, .kernel = 5, .padding = 2}, {1, 3, 24}, 2, 0.5f);
}

TEST_CASE("conv2d refuses options that do not fit its input") {
    blueprint plan;
    CHECK_THROWS_WITH_AS((conv2d{.kernel = 5}.bind({1, 28, 4}, plan)),
                         "conv1: kernel is 5; expected at most the padded input's side, 4",
                         sotto::invalid_option);
    CHECK_THROWS_AS((conv2d{.channels = 0}.bind({1, 8, 8}, plan)), sotto::invalid_option);
    CHECK_THROWS_AS((conv2d{.kernel = 0}.bind({1, 8, 8}, plan)), sotto::invalid_option);
    CHECK_THROWS_AS((conv2d{.stride = 0}.bind({1, 8, 8}, plan)), sotto::invalid_option);
    CHECK_THROWS_AS((conv2d{.padding = -1}.bind({1, 8, 8}, plan)), sotto::invalid_option);
    CHECK_THROWS_AS((conv2d{.kernel = 3, .padding = 3}.bind({1, 8, 8}, plan)),
                    sotto::invalid_option);
    CHECK_THROWS_AS((conv2d{.channels = 1 << 30}.bind({1, 1 << 15, 1 << 15}, plan)),
                    sotto::invalid_option);
    CHECK(plan.tensors().size() == 0);
}
