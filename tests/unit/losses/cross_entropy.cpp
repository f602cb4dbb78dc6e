#include "sotto/losses/cross_entropy.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sotto/core/random.hpp"

using sotto::cross_entropy;

static_assert(sotto::loss<cross_entropy>);

namespace {

std::vector<float> random_logits(std::size_t count) {
    sotto::random_stream random{7};
    std::vector<float> logits(count);
    for (float& z : logits) z = random.uniform(-3.0f, 3.0f);
    return logits;
}

}  // namespace

TEST_CASE("cross-entropy of equal logits is the logarithm of their number") {
    const std::vector<float> logits(2 * 8, 1.25f);
    const std::array<std::int32_t, 2> labels{3, 7};
    CHECK(cross_entropy{}.value(logits, labels) == doctest::Approx(std::log(8.0)));
    CHECK(cross_entropy{.label_smoothing = 0.3}.value(logits, labels) ==
          doctest::Approx(std::log(8.0)));
}

TEST_CASE("cross-entropy matches the closed form of two classes") {
    const std::array<float, 2> logits{2.0f, -1.0f};
    const std::array<std::int32_t, 1> labels{1};
    std::array<float, 2> gradient{};
    const double loss = cross_entropy{}.gradient(logits, labels, gradient);
    CHECK(loss == doctest::Approx(std::log1p(std::exp(3.0))));
    const double p = 1.0 / (1.0 + std::exp(-3.0));
    CHECK(gradient[0] == doctest::Approx(p));
    CHECK(gradient[1] == doctest::Approx(-p));
}

TEST_CASE(
    "the gradient of cross-entropy is the slope of its value, and each example's sums to zero") {
    const std::size_t outputs = 5;
    const std::array<std::int32_t, 3> labels{0, 4, 2};
    const auto logits = random_logits(labels.size() * outputs);
    for (const double smoothing : {0.0, 0.1, 0.9}) {
        const cross_entropy loss{.label_smoothing = smoothing};
        std::vector<float> gradient(logits.size(), std::nanf(""));
        CHECK(loss.gradient(logits, labels, gradient) == loss.value(logits, labels));
        for (std::size_t i = 0; i < logits.size(); ++i) {
            auto up = logits, down = logits;
            up[i] += 0.0625f;
            down[i] -= 0.0625f;
            const double slope = (loss.value(up, labels) - loss.value(down, labels)) / 0.125;
            CHECK(gradient[i] == doctest::Approx(slope).epsilon(2e-3).scale(0.1));
        }
        for (std::size_t i = 0; i < labels.size(); ++i) {
            double sum = 0.0;
            for (std::size_t j = 0; j < outputs; ++j) sum += gradient[i * outputs + j];
            CHECK(std::abs(sum) < 1e-7);
        }
    }
}

TEST_CASE("the gradient of smoothed cross-entropy vanishes where the prediction is the target") {
    const double s = 0.2;
    const std::array<float, 4> logits{
        static_cast<float>(std::log(1 - s + s / 4)), static_cast<float>(std::log(s / 4)),
        static_cast<float>(std::log(s / 4)), static_cast<float>(std::log(s / 4))};
    const std::array<std::int32_t, 1> labels{0};
    std::array<float, 4> gradient{};
    cross_entropy{.label_smoothing = s}.gradient(logits, labels, gradient);
    for (const float g : gradient) CHECK(std::abs(g) < 1e-6f);
}

TEST_CASE("cross-entropy of huge logits neither overflows nor loses the answer") {
    const std::array<float, 3> logits{3e38f, -3e38f, 0.0f};
    std::array<float, 3> gradient{};
    const std::array<std::int32_t, 1> right{0}, wrong{2};
    CHECK(cross_entropy{}.gradient(logits, right, gradient) == 0.0);
    for (const float g : gradient) CHECK(g == 0.0f);
    CHECK(cross_entropy{}.gradient(logits, wrong, gradient) == doctest::Approx(3e38));
    CHECK(gradient == std::array<float, 3>{1.0f, 0.0f, -1.0f});
}

TEST_CASE("cross-entropy of no examples is zero") {
    CHECK(cross_entropy{}.value({}, {}) == 0.0);
    CHECK(cross_entropy{}.gradient({}, {}, {}) == 0.0);
}

TEST_CASE("cross-entropy shows a value that is not a number") {
    const std::array<float, 2> logits{std::numeric_limits<float>::quiet_NaN(), 0.0f};
    const std::array<std::int32_t, 1> labels{1};
    CHECK(std::isnan(cross_entropy{}.value(logits, labels)));
}

TEST_CASE("cross-entropy refuses misuse and says what it expected") {
    const std::vector<float> logits(6);
    std::vector<float> out(6), too_short(5);
    const std::array<std::int32_t, 2> labels{0, 3}, negative{-1, 0};
    const std::array<std::int32_t, 2> good{0, 2};
    CHECK_THROWS_WITH_AS(
        cross_entropy{}.value(logits, labels),
        "cross_entropy: example 1 has label 3; expected 0 to 3 exclusive, the number of outputs",
        sotto::invalid_option);
    CHECK_THROWS_AS(cross_entropy{}.gradient(logits, negative, out), sotto::invalid_option);
    CHECK_THROWS_AS(cross_entropy{}.gradient(logits, good, too_short), sotto::invalid_option);
    CHECK_THROWS_AS(cross_entropy{}.value(std::span(logits).first(5), good), sotto::invalid_option);
    CHECK_THROWS_AS(cross_entropy{}.value(logits, {}), sotto::invalid_option);
    for (const double smoothing : {-0.1, 1.0, std::nan("")})
        CHECK_THROWS_AS(cross_entropy{.label_smoothing = smoothing}.value({}, {}),
                        sotto::invalid_option);
}
