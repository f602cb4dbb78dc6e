#include "sotto/losses/frequencies_of.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/data/labelled_set.hpp"
#include "sotto/data/text_set.hpp"
#include "sotto/losses/smoothed_cross_entropy.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/models/sequential.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"

using namespace sotto;

TEST_CASE("frequencies are counts over their sum") {
    const std::array<std::int32_t, 8> labels{0, 3, 3, 1, 3, 0, 3, 3};
    CHECK(frequencies_of(labels, 5) == std::vector<double>{0.25, 0.125, 0.0, 0.625, 0.0});
}

TEST_CASE("a data set's are those of all of its labels, a sequence's of all positions") {
    std::vector<std::int32_t> labels(600);  // more than one batch
    for (std::size_t i = 0; i < labels.size(); ++i)
        labels[i] = i % 6 == 0 ? 2 : static_cast<std::int32_t>(i % 2);
    const data::labelled_set set({1, 1, 1}, std::vector<float>(labels.size()), labels);
    CHECK(frequencies_of(set, 4) == frequencies_of(labels, 4));

    const data::text_set text("abababac", {.length = 3});
    std::vector<std::int32_t> read;
    data::labelled_batch batch;
    for (std::int64_t i = 0; i < text.size(); ++i) {
        text.gather(std::array{i}, batch);
        read.insert(read.end(), batch.labels().begin(), batch.labels().end());
    }
    REQUIRE(read.size() == 6);
    CHECK(frequencies_of(text, 3) == frequencies_of(read, 3));
}

TEST_CASE("labels that cannot be counted are refused by their place") {
    const auto why = [](std::vector<std::int32_t> labels, std::int64_t outputs) -> std::string {
        try {
            frequencies_of(labels, outputs);
        } catch (const invalid_option& e) {
            return e.what();
        }
        return "";
    };
    CHECK(why({0, 1, 2}, 2) ==
          "frequencies_of: label 2 is 2; expected 0 to 2 exclusive, the number of outputs");
    CHECK(why({0, -1}, 2) ==
          "frequencies_of: label 1 is -1; expected 0 to 2 exclusive, the number of outputs");
    CHECK(why({}, 2) == "frequencies_of: there are no labels; expected at least 1");
    CHECK(why({}, 0) == "frequencies_of: there are 0 outputs; expected at least 1");
}

TEST_CASE(
    "a model learns by the smoothed loss, and predicts the frequencies where it knows no more") {
    // Of blank images nothing but how often labels occur can be learnt.
    const std::vector<std::int32_t> labels{0, 0, 0, 0, 1, 1, 2, 2};
    const data::labelled_set blank({1, 1, 2}, std::vector<float>(16), labels);
    const auto frequencies = frequencies_of(blank, 3);
    run_in_process(1, [&](auto& transport) {
        models::mlp model{{2, 3}, smoothed_cross_entropy{.smoothing = 0.2, .towards = frequencies}};
        trainer trainer{model, all_reduce{sgd{.learning_rate = 2.0}}, transport, {.batch_size = 8}};
        trainer.fit(blank, steps{60});
        data::labelled_batch batch;
        blank.gather(std::array<std::int64_t, 1>{0}, batch);
        const auto logits = model.predict(trainer.parameters(), batch);
        double sum = 0.0;
        for (const float z : logits) sum += std::exp(z);
        for (std::size_t j = 0; j < 3; ++j)
            CHECK(std::exp(logits[j]) / sum == doctest::Approx(frequencies[j]).epsilon(1e-3));
    });
}

TEST_CASE("a model refuses frequencies that are not one for each of its outputs when it is made") {
    CHECK_THROWS_WITH_AS(
        (models::mlp{{2, 3}, smoothed_cross_entropy{.towards = {0.5, 0.5}}}),
        "smoothed_cross_entropy: towards has 2 frequencies; expected 3, one for each output",
        invalid_option);
}
