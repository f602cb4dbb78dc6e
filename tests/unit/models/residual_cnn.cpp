#include "sotto/models/residual_cnn.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "sotto/core/describe.hpp"
#include "unit/models/model_check.hpp"

using sotto::models::residual_cnn;

namespace {
// Small enough for central differences; the last stage still has more than one pixel.
residual_cnn<> small_model(std::int64_t blocks = 1) {
    return residual_cnn<>{{.blocks = blocks, .width = 3, .input = {2, 8, 8}, .classes = 3}};
}
}  // namespace

TEST_CASE("residual_cnn is the ResNet-20 of the paper: 0.27 million parameters in 20 layers") {
    const residual_cnn model{};
    CHECK(model.layout().size() == 269'722);
    CHECK(model.buffer_layout().size() == 1376);
    CHECK(model.outputs() == 10);
    std::int64_t weights = 0;
    for (const auto& t : model.layout()) weights += t.kind == sotto::tensor_kind::weight ? 1 : 0;
    CHECK(weights == 20);
    CHECK(model.layout()[0].name == "conv1.weight");
    CHECK(model.layout()[0].shape == std::vector<std::int64_t>{16, 3, 3, 3});
    CHECK(model.layout().find("conv8.weight")->shape == std::vector<std::int64_t>{32, 16, 3, 3});
    CHECK(model.layout().find("conv19.weight")->shape == std::vector<std::int64_t>{64, 64, 3, 3});
    CHECK(model.layout().find("conv1.bias") == nullptr);
    CHECK(model.layout().find("batch_norm19.weight")->size == 64);
    CHECK(model.layout().find("dense1.weight")->shape == std::vector<std::int64_t>{10, 64});
    // The table of the paper: 6 n + 2 layers, 0.46 and 0.66 million parameters for n = 5 and 7.
    CHECK(residual_cnn{{.blocks = 5}}.layout().size() == 464'154);
    CHECK(residual_cnn{{.blocks = 7}}.layout().size() == 658'586);
}

TEST_CASE("residual_cnn keeps its promises and has the gradient it claims") {
    auto model = small_model();
    model_test::check_manners(model);
    // The error shrinks with the step, as it does at kinks: 4 % at 4e-3, 0.003 % at 2.5e-4.
    model_test::check_slopes(model, model_test::random_batch(9, 2 * 64, 3), 1e-2, 2.5e-4);
    auto deeper = small_model(2);
    model_test::check_manners(deeper);
}

TEST_CASE("the buffers of residual_cnn move while it trains and at no other time") {
    auto model = small_model();
    const auto parameters = model_test::starting_values(model);
    const auto batch = model_test::random_batch(6, 2 * 64, 3);
    const auto buffers = model.buffers();
    const model_test::floats fresh(buffers.begin(), buffers.end());
    const auto logits = model.predict(parameters, batch);
    const model_test::floats before(logits.begin(), logits.end());
    CHECK(std::ranges::equal(buffers, fresh));

    std::vector<float> gradient(parameters.size());
    model.gradient(parameters, batch, gradient, [](const sotto::tensor&) {});
    for (const auto& t : model.buffer_layout())
        CHECK_FALSE(std::ranges::equal(t.of(std::span<const float>(buffers)),
                                       t.of(std::span<const float>(fresh))));
    const model_test::floats moved(buffers.begin(), buffers.end());
    const auto after = model.predict(parameters, batch);
    CHECK_FALSE(std::ranges::equal(after, before));
    CHECK(std::ranges::equal(buffers, moved));

    // With buffers from elsewhere: as if they were its own.
    const auto given = model.predict(parameters, fresh, batch);
    CHECK(std::ranges::equal(given, before));
    CHECK(std::ranges::equal(buffers, moved));
    model.reset_buffers();
    CHECK(std::ranges::equal(buffers, fresh));
    CHECK(std::ranges::equal(model.predict(parameters, batch), before));
    CHECK_THROWS_AS(model.predict(parameters, std::span(fresh).first(3), batch),
                    sotto::invalid_option);
}

TEST_CASE("after many passes over one batch, evaluation agrees with training") {
    auto model = small_model();
    const auto parameters = model_test::starting_values(model);
    const auto batch = model_test::random_batch(64, 2 * 64, 3);
    // The buffers then hold the batch's own statistics: 0.9^200 of the start is left.
    for (int pass = 0; pass < 200; ++pass) model.forward(parameters, batch);
    const auto trained = model.forward(parameters, batch);
    const model_test::floats expected(trained.begin(), trained.end());
    const auto evaluated = model.predict(parameters, batch);
    // The buffers' variance is the unbiased one, at most 256 / 255 of the other where planes are
    // smallest, in each of seven layers.
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(evaluated[i] == doctest::Approx(expected[i]).epsilon(0.02).scale(1.0));
}

TEST_CASE("residual_cnn learns a batch by heart, to the same bits every time") {
    const auto batch = model_test::random_batch(12, 2 * 64, 3);
    const auto train = [&] {
        auto model = small_model();
        model_test::floats parameters(static_cast<std::size_t>(model.layout().size())),
            gradient(parameters.size());
        model.initialise(parameters, sotto::random_stream{3});
        double loss = 0.0;
        for (int step = 0; step < 100; ++step) {
            loss = model.gradient(parameters, batch, gradient, [](const sotto::tensor&) {});
            for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= 0.2f * gradient[i];
        }
        CHECK(loss < 0.05);
        parameters.insert(parameters.end(), model.buffers().begin(), model.buffers().end());
        return parameters;
    };
    CHECK(train() == train());
}

TEST_CASE("residual_cnn describes its layers, and refuses options below 1") {
    const auto options = [](std::int64_t blocks, std::int64_t width) {
        return sotto::models::residual_cnn<>::options{.blocks = blocks, .width = width};
    };
    CHECK_THROWS_WITH_AS((residual_cnn{options(0, 16)}),
                         "residual_cnn: blocks is 0; expected 1 to 2147483647",
                         sotto::invalid_option);
    CHECK_THROWS_AS((residual_cnn{options(1, 0)}), sotto::invalid_option);
    CHECK_THROWS_AS((residual_cnn{{.classes = 0}}), sotto::invalid_option);
    sotto::detail::description text, wider;
    text.add("model", residual_cnn{options(1, 4)});
    wider.add("model", residual_cnn{options(1, 5)});
    CHECK(text.text() != wider.text());
}
