#include "sotto/strategies/detail/codistillation/label_knowledge.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/losses/cross_entropy.hpp"
#include "sotto/losses/smoothed_cross_entropy.hpp"
#include "sotto/losses/squared_error.hpp"
#include "sotto/models/mlp.hpp"

using namespace sotto;
using detail::chance_loss;
using detail::knowledge_of;

namespace {

const std::vector<std::int32_t> labels{0, 1, 2, 2};

// What is right in so many rows of four, and so sure.
std::vector<float> sure(std::size_t right, float by) {
    std::vector<float> logits(12);
    for (std::size_t i = 0; i < 4; ++i) {
        const auto label = static_cast<std::size_t>(labels[i]);
        logits[3 * i + (i < right ? label : (label + 1) % 3)] = by;
    }
    return logits;
}

}  // namespace

TEST_CASE("chance is the loss of equal logits, by the loss that the model learns by") {
    detail::large_vector<float> scratch;
    const double guess = std::log(3.0);
    CHECK(chance_loss(models::mlp{4, 3}, labels, 3, scratch) == doctest::Approx(guess));
    CHECK(chance_loss(models::mlp{{4, 3}, cross_entropy{.label_smoothing = 0.2}}, labels, 3,
                      scratch) == doctest::Approx(guess));
    const smoothed_cross_entropy unigram{.smoothing = 0.3, .towards = {0.7, 0.2, 0.1}};
    CHECK(chance_loss(models::mlp{{4, 3}, unigram}, labels, 3, scratch) == doctest::Approx(guess));
    CHECK(chance_loss(models::mlp{{4, 3}, squared_error{}}, labels, 3, scratch) == 0.5);
    CHECK(chance_loss(0, labels, 3, scratch) == doctest::Approx(guess));  // a model without a loss
    CHECK(chance_loss(0, {}, 3, scratch) == 0.0);
}

TEST_CASE("who is right and too sure knows something, who is wrong knows nothing however unsure") {
    detail::large_vector<float> scratch;
    const auto of = [&](std::size_t right, float by) {
        return knowledge_of(0, sure(right, by), labels, std::log(3.0), scratch);
    };
    const detail::label_knowledge good = of(4, 3.0f), hasty = of(3, 5.0f), wrong = of(0, 5.0f),
                                  guesses = of(1, 1.0f);
    CHECK(good.above_chance() < 0.0);
    CHECK(good.unsure == good.loss);
    CHECK(hasty.loss > hasty.chance);
    CHECK(hasty.above_chance() < 0.0);
    CHECK(hasty.unsure == doctest::Approx(std::log(std::exp(2.5) + 2.0) - 0.75 * 2.5));
    CHECK(wrong.above_chance() > 1.0);
    CHECK(guesses.above_chance() > 0.0);
    CHECK(std::isnan(of(4, std::nanf("")).above_chance()));
}
