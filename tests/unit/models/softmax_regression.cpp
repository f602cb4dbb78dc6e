#include "sotto/models/softmax_regression.hpp"

#include <doctest/doctest.h>

#include "sotto/losses/squared_error.hpp"
#include "unit/models/model_check.hpp"

TEST_CASE("softmax regression is one dense layer") {
    sotto::models::softmax_regression model{20, 5};
    REQUIRE(model.layout().tensors().size() == 2);
    CHECK(model.layout()[0].name == "dense1.weight");
    CHECK(model.layout()[1].name == "dense1.bias");
    CHECK(model.layout().size() == 5 * 20 + 5);
    CHECK(model.outputs() == 5);
    model_test::check_manners(model);
    model_test::check_slopes(model, model_test::random_batch(7, 20, 5), 1e-3);
}

TEST_CASE("softmax regression takes another loss") {
    sotto::models::softmax_regression model{12, 3, sotto::squared_error{}};
    model_test::check_manners(model);
    model_test::check_slopes(model, model_test::random_batch(7, 12, 3), 1e-3);
}

TEST_CASE("softmax regression refuses to have no inputs or classes") {
    CHECK_THROWS_AS(sotto::models::softmax_regression(0, 3), sotto::invalid_option);
    CHECK_THROWS_AS(sotto::models::softmax_regression(3, 0), sotto::invalid_option);
}
