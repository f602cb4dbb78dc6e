#include "sotto/nn/lstm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/nn/layer.hpp"
#include "unit/nn/layer_check.hpp"

using namespace sotto::nn;

static_assert(layer<lstm>);

namespace {

double sigmoid(double x) {
    return 1.0 / (1.0 + std::exp(-x));
}

// One layer on one sequence, by the formula alone, in double.
std::vector<double> by_formula(const std::vector<double>& in, std::size_t positions,
                               std::span<const float> weight, std::span<const float> state_weight,
                               std::span<const float> bias) {
    const std::size_t hidden = bias.size() / 4, inputs = in.size() / positions;
    std::vector<double> h(hidden), c(hidden), out;
    for (std::size_t t = 0; t < positions; ++t) {
        std::vector<double> gates(bias.begin(), bias.end());
        for (std::size_t g = 0; g < gates.size(); ++g) {
            for (std::size_t i = 0; i < inputs; ++i)
                gates[g] += double{weight[g * inputs + i]} * in[t * inputs + i];
            for (std::size_t i = 0; i < hidden; ++i)
                gates[g] += double{state_weight[g * hidden + i]} * h[i];
        }
        for (std::size_t j = 0; j < hidden; ++j) {
            c[j] = sigmoid(gates[hidden + j]) * c[j] +
                   sigmoid(gates[j]) * std::tanh(gates[2 * hidden + j]);
            h[j] = sigmoid(gates[3 * hidden + j]) * std::tanh(c[j]);
            out.push_back(h[j]);
        }
    }
    return out;
}

}  // namespace

TEST_CASE("lstm names its tensors layer by layer, and its forget gates start open") {
    blueprint plan;
    const auto state = lstm{.hidden = 3, .layers = 2}.bind({7, 1, 5}, plan);
    CHECK(state.output() == shape{7, 1, 3});
    std::vector<std::string> names;
    for (const auto& t : plan.tensors()) names.push_back(t.name);
    CHECK(names == std::vector<std::string>{"lstm1.input.weight", "lstm1.state.weight",
                                            "lstm1.bias", "lstm2.input.weight",
                                            "lstm2.state.weight", "lstm2.bias"});
    CHECK(plan.tensors()[0].shape == std::vector<std::int64_t>{12, 5});
    CHECK(plan.tensors()[1].shape == std::vector<std::int64_t>{12, 3});
    CHECK(plan.tensors()[3].shape == std::vector<std::int64_t>{12, 3});
    CHECK(plan.tensors()[2].kind == sotto::tensor_kind::bias);
    nn_test::floats parameters(nn_test::count(plan.tensors().size()), std::nanf(""));
    plan.initialise(parameters, sotto::random_stream{1});
    for (const std::int64_t index : {2, 5}) {
        const auto bias = plan.tensors()[index].of(std::span<const float>(parameters));
        CHECK(nn_test::floats(bias.begin(), bias.end()) ==
              nn_test::floats{0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0});
    }
}

TEST_CASE("lstm computes its formula, sequence by sequence and layer by layer") {
    constexpr std::size_t positions = 6, inputs = 5, hidden = 17, batch = 3;
    blueprint plan;
    auto state = lstm{.hidden = hidden, .layers = 2}.bind({positions, 1, inputs}, plan);
    const auto parameters = nn_test::uniform(plan.tensors().size(), 1);
    const auto in = nn_test::uniform(batch * positions * inputs, 2);
    const auto out = state.forward(parameters, in);
    REQUIRE(out.size() == batch * positions * hidden);
    const auto tensor = [&](std::int64_t index) {
        return plan.tensors()[index].of(std::span<const float>(parameters));
    };
    for (std::size_t n = 0; n < batch; ++n) {
        const auto from = in.begin() + static_cast<std::ptrdiff_t>(n * positions * inputs);
        const std::vector<double> sequence(from, from + positions * inputs);
        const auto first = by_formula(sequence, positions, tensor(0), tensor(1), tensor(2));
        const auto second = by_formula(first, positions, tensor(3), tensor(4), tensor(5));
        nn_test::check_near(out.subspan(n * positions * hidden, positions * hidden), second, 1e-5);
    }
}

TEST_CASE("the gradients of lstm are its slopes") {
    constexpr float step = 0.015625f;
    nn_test::check_layer(lstm{.hidden = 3}, {4, 1, 5}, 2, step, 1e-3);
    nn_test::check_layer(lstm{.hidden = 1}, {1, 1, 1}, 1, step, 1e-3);
    nn_test::check_layer(lstm{.hidden = 4}, {1, 1, 3}, 3, step, 1e-3);
    nn_test::check_layer(lstm{.hidden = 2}, {5, 1, 2}, 1, step, 1e-3);
    nn_test::check_layer(lstm{.hidden = 4, .layers = 3}, {3, 2, 3}, 2, step, 1e-3);
    nn_test::check_layer(lstm{.hidden = 17, .layers = 2}, {2, 1, 2}, 2, step, 1e-3);
}

TEST_CASE("a backward pass of lstm may be repeated") {
    blueprint plan;
    plan.add_bias("before", 1);
    auto state = lstm{.hidden = 5, .layers = 2}.bind({4, 1, 3}, plan);
    const auto parameters = nn_test::uniform(plan.tensors().size(), 1);
    const auto in = nn_test::uniform(2 * 12, 2), change = nn_test::uniform(2 * 20, 3);
    nn_test::floats first(parameters.size()), second(parameters.size());
    state.forward(parameters, in);
    const auto nothing = [](const sotto::tensor&) {};
    const auto back = state.backward(parameters, in, change, first, nothing);
    const nn_test::floats first_back(back.begin(), back.end());
    const auto again = state.backward(parameters, in, change, second, nothing);
    CHECK(first == second);
    CHECK(std::equal(again.begin(), again.end(), first_back.begin(), first_back.end()));
}

TEST_CASE("lstm refuses options that cannot work") {
    blueprint plan;
    CHECK_THROWS_WITH_AS((lstm{.hidden = 0}.bind({3, 1, 2}, plan)),
                         "lstm: hidden is 0; expected 1 to 2147483647", sotto::invalid_option);
    CHECK_THROWS_AS((lstm{.hidden = std::int64_t{1} << 30}.bind({3, 1, 2}, plan)),
                    sotto::invalid_option);
    CHECK_THROWS_AS((lstm{.hidden = 2, .layers = 0}.bind({3, 1, 2}, plan)), sotto::invalid_option);
    CHECK_THROWS_AS((lstm{.hidden = 2}.bind({3, 0, 2}, plan)), sotto::invalid_option);
    CHECK(plan.tensors().size() == 0);
}
