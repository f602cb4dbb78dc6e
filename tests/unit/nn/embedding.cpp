#include "sotto/nn/embedding.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/nn/layer.hpp"
#include "support/allocation_count.hpp"
#include "unit/nn/layer_check.hpp"

using namespace sotto::nn;

static_assert(layer<embedding>);

namespace {

const auto nothing = [](const sotto::tensor&) {};

}  // namespace

TEST_CASE("embedding puts a row of its weight in the place of every token") {
    blueprint plan;
    auto state = embedding{.vocabulary = 3, .width = 10}.bind({4, 1, 1}, plan);
    CHECK(state.output() == shape{4, 1, 10});
    REQUIRE(plan.tensors().tensors().size() == 1);
    CHECK(plan.tensors()[0].name == "embedding1.weight");
    CHECK(plan.tensors()[0].shape == std::vector<std::int64_t>{3, 10});
    nn_test::floats weight(30);
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i);
    const std::array<float, 8> tokens{2, 0, 0, 1, 1, 1, 2, 2};
    const auto out = state.forward(weight, tokens);
    REQUIRE(out.size() == 80);
    for (std::size_t i = 0; i < 8; ++i)
        for (std::size_t j = 0; j < 10; ++j)
            CHECK(out[10 * i + j] == 10.0f * tokens[i] + static_cast<float>(j));
    CHECK(state.activations(tokens).data() == out.data());
}

TEST_CASE("an embedding's gradient adds up over the places of a token, and is 0 without any") {
    blueprint plan;
    auto state = embedding{.vocabulary = 4, .width = 9}.bind({3, 1, 1}, plan);
    const auto weight = nn_test::uniform(4 * 9, 1);
    const std::vector<float> tokens{1, 3, 1, 0, 1, 3};
    std::vector<float> change(6 * 9);
    for (std::size_t i = 0; i < change.size(); ++i) change[i] = static_cast<float>(i);
    nn_test::floats gradient(weight.size(), std::nanf(""));
    state.forward(weight, tokens);
    int announced = 0;
    const auto back = state.backward(weight, tokens, change, gradient, [&](const auto& t) {
        ++announced;
        CHECK(t.name == "embedding1.weight");
    });
    CHECK(back.empty());
    CHECK(announced == 1);
    nn_test::floats expected(weight.size(), 0.0f);
    for (std::size_t i = 0; i < tokens.size(); ++i)
        for (std::size_t j = 0; j < 9; ++j)
            expected[static_cast<std::size_t>(tokens[i]) * 9 + j] += change[i * 9 + j];
    CHECK(gradient == expected);
}

TEST_CASE("an embedding takes no memory after the largest batch") {
    blueprint plan;
    auto state = embedding{.vocabulary = 2, .width = 9}.bind({2, 1, 1}, plan);
    const auto weight = nn_test::uniform(18, 1), change = nn_test::uniform(36, 2);
    nn_test::floats gradient(18);
    const std::array<float, 4> tokens{0, 1, 1, 0};
    state.forward(weight, tokens);
    const support::allocation_count allocations;
    for (const std::size_t size : {2u, 0u, 4u}) {
        const auto some = std::span<const float>(tokens).first(size);
        state.forward(weight, some);
        state.backward(weight, some, std::span(change).first(9 * size), gradient, nothing);
    }
    CHECK(allocations.on_this_thread() == 0);
}

TEST_CASE("an embedding's vectors start with variance 1") {
    blueprint plan;
    embedding{.vocabulary = 100, .width = 100}.bind({1, 1, 1}, plan);
    std::vector<float> weight(10000);
    plan.initialise(weight, sotto::random_stream{3});
    double squares = 0.0;
    for (const float x : weight) squares += double{x} * x;
    CHECK(squares / 10000.0 == doctest::Approx(1.0).epsilon(0.05));
}

TEST_CASE("an embedding refuses what is not a token, and names its place") {
    blueprint plan;
    auto state = embedding{.vocabulary = 3, .width = 9}.bind({2, 1, 1}, plan);
    const std::array<float, 27> weight{};
    for (const float wrong : {3.0f, -1.0f, 0.5f, std::nanf(""), INFINITY, 1e20f}) {
        CAPTURE(wrong);
        const std::array<float, 4> tokens{0, 1, 2, wrong};
        CHECK_THROWS_AS(state.forward(weight, tokens), sotto::invalid_option);
    }
    const std::array<float, 4> tokens{0, 1, 2, 3};
    CHECK_THROWS_WITH_AS(state.forward(weight, tokens),
                         "embedding1: example 1 has token 3.000000 at position 1; expected a whole "
                         "number, 0 to 3 exclusive, the vocabulary",
                         sotto::invalid_option);
}

TEST_CASE("an embedding refuses options that cannot work") {
    blueprint plan;
    CHECK_THROWS_WITH_AS((embedding{.vocabulary = 0, .width = 2}.bind({3, 1, 1}, plan)),
                         "embedding1: vocabulary is 0; expected 1 to 2147483647",
                         sotto::invalid_option);
    CHECK_THROWS_AS((embedding{.vocabulary = 3, .width = 0}.bind({3, 1, 1}, plan)),
                    sotto::invalid_option);
    CHECK_THROWS_AS((embedding{.vocabulary = (1 << 24) + 1, .width = 1}.bind({3, 1, 1}, plan)),
                    sotto::invalid_option);
    CHECK(plan.tensors().size() == 0);
    embedding{.vocabulary = 3, .width = 2}.bind({3, 1, 1}, plan);
    CHECK_THROWS_AS((embedding{.vocabulary = 3, .width = 2}.bind({6, 1, 1}, plan)),
                    sotto::invalid_option);
}
