#include "sotto/models/mlp.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/data/digits.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/losses/squared_error.hpp"
#include "unit/models/model_check.hpp"

using sotto::models::mlp;

TEST_CASE("an mlp has a weight and a bias between each two widths") {
    const mlp model{784, 256, 128, 10};
    CHECK(model.layout().size() == 784 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10);
    REQUIRE(model.layout().tensors().size() == 6);
    CHECK(model.layout()[2].name == "dense2.weight");
    CHECK(model.layout()[2].shape == std::vector<std::int64_t>{128, 256});
    CHECK(model.layout()[5].name == "dense3.bias");
    CHECK(model.layout()[5].kind == sotto::tensor_kind::bias);
    CHECK(model.outputs() == 10);
}

TEST_CASE("mlps of any depth keep their promises and have the gradients they claim") {
    mlp shallow{9, 4}, usual{9, 16, 4}, deep{9, 12, 10, 8, 4};
    for (mlp<>* model : {&shallow, &usual, &deep}) {
        model_test::check_manners(*model);
        model_test::check_slopes(*model, model_test::random_batch(7, 9, 4), 2e-2);
    }
    mlp other{{9, 16, 4}, sotto::squared_error{}};
    model_test::check_slopes(other, model_test::random_batch(7, 9, 4), 2e-2);
}

TEST_CASE("an mlp without hidden widths is softmax regression") {
    mlp model{20, 5};
    CHECK(model.layout().size() == 105);
}

TEST_CASE("an mlp needs two widths, each at least one") {
    CHECK_THROWS_WITH_AS(mlp{784}, "mlp: 1 widths; expected at least 2, inputs and classes",
                         sotto::invalid_option);
    CHECK_THROWS_WITH_AS((mlp{784, 0, 10}), "dense1: outputs is 0; expected 1 to 2147483647",
                         sotto::invalid_option);
    CHECK_THROWS_AS((mlp{{8, 4}, sotto::cross_entropy{.label_smoothing = 1.0}}),
                    sotto::invalid_option);
}

TEST_CASE(
    "plain gradient descent teaches an mlp 2,000 digits: at least 80 % of 1,000 others right") {
    const auto [train, test] = sotto::data::digits_train_test(2000, 1000, sotto::random_stream{1});
    mlp model{784, 64, 10};
    std::vector<float> parameters(static_cast<std::size_t>(model.layout().size())),
        gradient(parameters.size());
    model.initialise(parameters, sotto::random_stream{2});
    sotto::detail::data::sampler order(train.size(), {}, 32, sotto::random_stream{3});
    sotto::data::labelled_batch batch;
    for (std::int64_t epoch = 0; epoch < 12; ++epoch) {
        order.begin_epoch(epoch);
        for (std::int64_t step = 0; step < order.batches(); ++step) {
            train.gather(order.batch(step), batch);
            model.gradient(parameters, batch, gradient, [](const sotto::tensor&) {});
            for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= 0.2f * gradient[i];
        }
    }
    const sotto::detail::data::sampler all(test.size(), {}, test.size(), sotto::random_stream{0},
                                           false);
    test.gather(all.batch(0), batch);
    const auto logits = model.predict(parameters, batch);
    int right = 0;
    for (std::size_t i = 0; i < batch.labels().size(); ++i) {
        const auto row = logits.subspan(i * 10, 10);
        right += std::max_element(row.begin(), row.end()) - row.begin() == batch.labels()[i];
    }
    CAPTURE(right);
    CHECK(right >= 800);
}
