#include "sotto/models/lenet.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "unit/models/model_check.hpp"

using sotto::models::lenet;

TEST_CASE("lenet has two convolutions and two dense layers, 73,594 parameters for 28 x 28 pixels") {
    const lenet model{};
    CHECK(model.layout().size() == 73594);
    REQUIRE(model.layout().tensors().size() == 8);
    CHECK(model.layout()[0].name == "conv1.weight");
    CHECK(model.layout()[0].shape == std::vector<std::int64_t>{8, 1, 5, 5});
    CHECK(model.layout()[2].name == "conv2.weight");
    CHECK(model.layout()[4].name == "dense1.weight");
    CHECK(model.layout()[7].name == "dense2.bias");
    CHECK(model.outputs() == 10);
    CHECK(lenet{{3, 32, 32}, 4}.outputs() == 4);
}

TEST_CASE("lenet keeps its promises and has the gradient it claims") {
    lenet small{{1, 16, 16}, 3};
    model_test::check_manners(small);
    model_test::check_slopes(small, model_test::random_batch(5, 16 * 16, 3), 2e-2);
    lenet whole{};
    model_test::check_slopes(whole, model_test::random_batch(2, 28 * 28, 10), 2e-2);
}

TEST_CASE("lenet refuses images that its windows do not fit into") {
    CHECK_THROWS_AS((lenet{{1, 15, 16}}), sotto::invalid_option);
}
