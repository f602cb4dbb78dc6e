#include "sotto/strategies/detail/codistillation/architecture_of.hpp"

#include <doctest/doctest.h>

#include <string>

#include "sotto/losses/cross_entropy.hpp"
#include "sotto/losses/squared_error.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/models/sequential.hpp"
#include "sotto/models/softmax_regression.hpp"
#include "sotto/nn/batch_norm.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/relu.hpp"
#include "sotto/nn/tanh.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using detail::architecture_of;

TEST_CASE("models of other layers are others, though names and shapes of tensors are the same") {
    const auto of = [](auto activation) {
        return architecture_of(models::sequential{
            nn::shape{4, 1, 1}, nn::chain{nn::dense{6}, activation, nn::dense{3}}});
    };
    CHECK(of(nn::relu{}).identity() == of(nn::relu{}).identity());
    CHECK(of(nn::relu{}).identity() != of(nn::tanh{}).identity());
    const models::mlp narrow{4, 6, 3}, wide{4, 7, 3};
    CHECK(architecture_of(narrow).identity() != architecture_of(wide).identity());
}

TEST_CASE("the loss that a model learns by is no part of what it is") {
    const models::mlp plain{4, 6, 3};
    const models::mlp smoothed{{4, 6, 3}, cross_entropy{.label_smoothing = 0.2}};
    const models::mlp squared{{4, 6, 3}, squared_error{}};
    CHECK(architecture_of(plain).description.find("layers") != std::string::npos);
    CHECK(architecture_of(plain).identity() == architecture_of(smoothed).identity());
    CHECK(architecture_of(plain).identity() == architecture_of(squared).identity());
}

TEST_CASE("buffers are part of it, and a model that says nothing of itself is its type") {
    const models::sequential normed{nn::shape{4, 1, 1}, nn::chain{nn::dense{6}, nn::batch_norm{}}};
    CHECK(architecture_of(normed).buffers.size() == normed.buffer_layout().size());
    CHECK(architecture_of(testing::number_model{}).description.find("number_model") !=
          std::string::npos);
}
