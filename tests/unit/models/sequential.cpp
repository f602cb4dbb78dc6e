#include "sotto/models/sequential.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <thread>
#include <vector>

#include "sotto/nn/average_pool2d.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/conv2d.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/global_average_pool.hpp"
#include "sotto/nn/sigmoid.hpp"
#include "sotto/nn/tanh.hpp"
#include "unit/models/model_check.hpp"

namespace nn = sotto::nn;
using sotto::models::sequential;

TEST_CASE("a model of one's own layers keeps the promises of ours") {
    sequential model{
        nn::shape{2, 9, 9},
        nn::chain{nn::conv2d{.channels = 4, .kernel = 3, .stride = 2, .padding = 1}, nn::tanh{},
                  nn::average_pool2d{}, nn::conv2d{.channels = 5, .kernel = 1}, nn::sigmoid{},
                  nn::global_average_pool{}, nn::dense{.outputs = 3}}};
    model_test::check_manners(model);
    model_test::check_slopes(model, model_test::random_batch(5, 2 * 81, 3), 2e-3);
}

TEST_CASE("a model refuses what does not fit, names both sizes, and writes nothing") {
    sequential model{nn::shape{1, 2, 3}, nn::dense{.outputs = 4}};
    auto good = model_test::random_batch(5, 6, 4);
    const auto narrow = model_test::random_batch(5, 7, 4);
    const auto parameters = model_test::starting_values(model);
    std::vector<float> out(parameters.size(), 42.0f);
    const auto nothing = [](const sotto::tensor&) {};
    CHECK_THROWS_WITH_AS(model.gradient(parameters, narrow, out, nothing),
                         "sequential: the batch has examples of 7 values; expected 6, 1 x 2 x 3",
                         sotto::invalid_option);
    CHECK_THROWS_AS(model.predict(parameters, narrow), sotto::invalid_option);
    CHECK_THROWS_WITH_AS(
        model.forward(std::span(parameters).first(3), good),
        "sequential: the span of parameters has 3 floats; expected 28, the layout's size",
        sotto::invalid_option);
    CHECK_THROWS_AS(model.gradient(parameters, good, std::span(out).first(27), nothing),
                    sotto::invalid_option);
    CHECK_THROWS_AS(model.initialise(std::span(out).first(1), sotto::random_stream{1}),
                    sotto::invalid_option);

    model.forward(parameters, model_test::random_batch(4, 6, 4));
    std::vector<float> logits_gradient(20);
    CHECK_THROWS_WITH_AS(
        model.backward(parameters, good, logits_gradient, out, nothing),
        "sequential: backward on a batch of 5 examples; expected the batch given to forward, 4",
        sotto::invalid_option);
    model.forward(parameters, good);
    CHECK_THROWS_AS(
        model.backward(parameters, good, std::span(logits_gradient).first(19), out, nothing),
        sotto::invalid_option);

    good.labels()[3] = 4;
    CHECK_THROWS_WITH_AS(
        model.gradient(parameters, good, out, nothing),
        "cross_entropy: example 3 has label 4; expected 0 to 4 exclusive, the number of outputs",
        sotto::invalid_option);
    CHECK(out == std::vector<float>(parameters.size(), 42.0f));
}

TEST_CASE("a model refuses backward before any forward") {
    sequential model{nn::shape{6}, nn::dense{.outputs = 4}};
    const auto parameters = model_test::starting_values(model);
    std::vector<float> out(parameters.size());
    CHECK_THROWS_AS(
        model.backward(parameters, sotto::data::labelled_batch{}, {}, out, [](const auto&) {}),
        sotto::invalid_option);
}

TEST_CASE("models on several threads do not disturb each other: the same bits as alone") {
    const auto layers = nn::chain{nn::conv2d{.channels = 4}, nn::tanh{}, nn::dense{.outputs = 3}};
    const auto batch = model_test::random_batch(6, 64, 3);
    std::vector<std::vector<float>> gradients(4);
    std::vector<std::thread> threads;
    for (auto& gradient : gradients)
        threads.emplace_back([&] {
            sequential model{nn::shape{1, 8, 8}, layers};
            const auto parameters = model_test::starting_values(model);
            gradient.resize(parameters.size());
            for (int step = 0; step < 20; ++step)
                model.gradient(parameters, batch, gradient, [](const sotto::tensor&) {});
        });
    for (auto& thread : threads) thread.join();
    for (const auto& gradient : gradients) CHECK(gradient == gradients[0]);
}
