#include "sotto/models/character_lstm.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"
#include "unit/models/model_check.hpp"

using sotto::models::character_lstm;

namespace {

sotto::data::labelled_batch random_text(std::int64_t size, std::int64_t length,
                                        std::int64_t vocabulary, std::uint64_t seed) {
    sotto::data::labelled_batch batch;
    batch.resize(size, length, length);
    sotto::random_stream random{seed};
    const auto character = [&] {
        return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(vocabulary)));
    };
    for (float& x : batch.inputs()) x = static_cast<float>(character());
    for (std::int32_t& y : batch.labels()) y = character();
    return batch;
}

}  // namespace

TEST_CASE("a character LSTM has more than a million parameters for 65 characters") {
    const character_lstm model{65};
    CHECK(model.layout().size() == 1083969);
    CHECK(model.outputs() == 65);
    CHECK(model.positions() == 64);
    std::vector<std::string> names;
    for (const auto& t : model.layout()) names.push_back(t.name);
    CHECK(names == std::vector<std::string>{"embedding1.weight", "lstm1.input.weight",
                                            "lstm1.state.weight", "lstm1.bias",
                                            "lstm2.input.weight", "lstm2.state.weight",
                                            "lstm2.bias", "dense1.weight", "dense1.bias"});
}

TEST_CASE("a character LSTM keeps its promises and has the gradient it claims") {
    character_lstm model{7, {.width = 5, .hidden = 9, .layers = 2, .length = 6}};
    model_test::check_manners(
        model, [](std::int64_t size, std::uint64_t seed) { return random_text(size, 6, 7, seed); });
    model_test::check_slopes(model, random_text(4, 6, 7, 1), 2e-2);
    character_lstm shortest{3, {.width = 2, .hidden = 4, .layers = 1, .length = 2}};
    model_test::check_slopes(shortest, random_text(1, 2, 3, 1), 2e-2);
}

TEST_CASE("a character LSTM learns what follows what, and what only its memory can tell") {
    // After "ab" comes c, after "cb" comes a: the character before says nothing about it.
    constexpr std::int64_t length = 12;
    const std::vector<std::int32_t> period{0, 1, 2, 1};
    character_lstm model{3, {.width = 4, .hidden = 8, .layers = 1, .length = length}};
    sotto::data::labelled_batch batch;
    batch.resize(2, length, length);
    for (std::size_t i = 0; i < batch.labels().size(); ++i) {
        const std::size_t at = i % length + 2 * (i / length);  // the second begins half-way
        batch.inputs()[i] = static_cast<float>(period[at % 4]);
        batch.labels()[i] = period[(at + 1) % 4];
    }
    auto parameters = model_test::starting_values(model);
    std::vector<float> gradient(parameters.size());
    double loss = 0.0;
    for (int step = 0; step < 300; ++step) {
        loss = model.gradient(parameters, batch, gradient, [](const sotto::tensor&) {});
        for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= gradient[i];
    }
    CHECK(loss < 0.05);
}

TEST_CASE("a character LSTM refuses characters and batches that do not fit") {
    character_lstm model{3, {.width = 2, .hidden = 2, .layers = 1, .length = 4}};
    const auto parameters = model_test::starting_values(model);
    auto batch = random_text(2, 4, 3, 1);
    batch.inputs()[5] = 3.0f;
    CHECK_THROWS_WITH_AS(model.forward(parameters, batch),
                         "embedding1: example 1 has token 3.000000 at position 1; expected a whole "
                         "number, 0 to 3 exclusive, the vocabulary",
                         sotto::invalid_option);
    // After a pass that was refused there is nothing to go back through.
    const auto good = random_text(2, 4, 3, 2);
    (void)model.forward(parameters, good);
    CHECK_THROWS_AS(model.forward(parameters, batch), sotto::invalid_option);
    std::vector<float> gradient(parameters.size()), change(2 * 4 * 3, 1.0f);
    CHECK_THROWS_AS(model.backward(parameters, batch, change, gradient, [](const auto&) {}),
                    sotto::invalid_option);
    CHECK_THROWS_AS(model.forward(parameters, random_text(2, 5, 3, 1)), sotto::invalid_option);
    sotto::data::labelled_batch one_label(2, 4);
    CHECK_THROWS_AS(model.forward(parameters, one_label), sotto::invalid_option);
    CHECK_THROWS_AS((character_lstm{0}), sotto::invalid_option);
    CHECK_THROWS_AS((character_lstm{3, {.hidden = 0}}), sotto::invalid_option);
    CHECK_THROWS_AS((character_lstm{3, {.length = 0}}), sotto::invalid_option);
}
