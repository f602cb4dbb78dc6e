#include "sotto/losses/smoothed_cross_entropy.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sotto/core/describe.hpp"
#include "sotto/core/random.hpp"
#include "sotto/losses/cross_entropy.hpp"

using sotto::cross_entropy;
using sotto::smoothed_cross_entropy;

static_assert(sotto::loss<smoothed_cross_entropy>);

namespace {

std::vector<float> random_logits(std::size_t count) {
    sotto::random_stream random{7};
    std::vector<float> logits(count);
    for (float& z : logits) z = random.uniform(-3.0f, 3.0f);
    return logits;
}

std::string why(const smoothed_cross_entropy& loss, std::span<const float> logits = {},
                std::span<const std::int32_t> labels = {}) {
    try {
        loss.value(logits, labels);
    } catch (const sotto::invalid_option& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("smoothing towards equal frequencies is label smoothing, up to rounding") {
    const std::array<std::int32_t, 4> labels{0, 4, 2, 2};
    const auto logits = random_logits(labels.size() * 5);
    for (const double s : {0.0, 0.1, 0.9}) {
        const cross_entropy even{.label_smoothing = s};
        const smoothed_cross_entropy loss{.smoothing = s,
                                          .towards = std::vector<double>(5, 1.0 / 5.0)};
        std::vector<float> expected(logits.size()), found(logits.size());
        CHECK(loss.gradient(logits, labels, found) ==
              doctest::Approx(even.gradient(logits, labels, expected)).epsilon(1e-14));
        for (std::size_t i = 0; i < found.size(); ++i)
            CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-6));
    }
}

TEST_CASE("without smoothing it is cross-entropy to the last bit, whatever the frequencies") {
    const std::array<std::int32_t, 2> labels{1, 0};
    const auto logits = random_logits(6);
    const smoothed_cross_entropy loss{.smoothing = 0.0, .towards = {0.25, 0.75, 0.0}};
    std::vector<float> expected(6), found(6);
    CHECK(loss.gradient(logits, labels, found) ==
          cross_entropy{}.gradient(logits, labels, expected));
    CHECK(found == expected);
}

TEST_CASE("smoothed cross-entropy matches the closed form of two outputs") {
    // With p = softmax(2, -1) the loss is -t0 log p0 - t1 log p1.
    const std::array<float, 2> logits{2.0f, -1.0f};
    const std::array<std::int32_t, 1> labels{1};
    const smoothed_cross_entropy loss{.smoothing = 0.4, .towards = {0.75, 0.25}};
    const double p0 = 1.0 / (1.0 + std::exp(-3.0)), t0 = 0.4 * 0.75, t1 = 0.6 + 0.4 * 0.25;
    std::array<float, 2> gradient{};
    CHECK(loss.gradient(logits, labels, gradient) ==
          doctest::Approx(-t0 * std::log(p0) - t1 * std::log(1.0 - p0)));
    CHECK(gradient[0] == doctest::Approx(p0 - t0));
    CHECK(gradient[1] == doctest::Approx(1.0 - p0 - t1));
}

TEST_CASE("over all labels, as often as they occur, the mean target is the frequencies") {
    // 1/2, 1/4 and 1/4 of the labels; where the prediction is that, gradients cancel.
    const std::array<std::int32_t, 4> labels{0, 0, 1, 2};
    std::vector<float> logits;
    for (int i = 0; i < 4; ++i)
        for (const double f : {0.5, 0.25, 0.25}) logits.push_back(static_cast<float>(std::log(f)));
    const smoothed_cross_entropy loss{.smoothing = 0.3, .towards = {0.5, 0.25, 0.25}};
    std::vector<float> gradient(logits.size());
    loss.gradient(logits, labels, gradient);
    for (std::size_t j = 0; j < 3; ++j) {
        double sum = 0.0;
        for (std::size_t i = 0; i < 4; ++i) sum += gradient[i * 3 + j];
        CHECK(std::abs(sum) < 1e-7);
    }
}

TEST_CASE("its gradient is the slope of its value, and each example's sums to zero") {
    const std::size_t outputs = 5;
    const std::array<std::int32_t, 3> labels{0, 4, 2};
    const auto logits = random_logits(labels.size() * outputs);
    for (const double s : {0.1, 0.9}) {
        const smoothed_cross_entropy loss{.smoothing = s, .towards = {0.1, 0.5, 0.0, 0.15, 0.25}};
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

TEST_CASE("an output that never occurs costs nothing, even where its logit is minus infinity") {
    const std::array<float, 3> logits{0.0f, 0.0f, -std::numeric_limits<float>::infinity()};
    const std::array<std::int32_t, 1> labels{0};
    const smoothed_cross_entropy loss{.smoothing = 0.5, .towards = {0.5, 0.5, 0.0}};
    CHECK(loss.value(logits, labels) == doctest::Approx(std::log(2.0)));
}

TEST_CASE("smoothed cross-entropy of no examples is zero") {
    const smoothed_cross_entropy loss{.towards = {0.5, 0.5}};
    CHECK(loss.value({}, {}) == 0.0);
    CHECK(loss.gradient({}, {}, {}) == 0.0);
}

TEST_CASE("smoothed cross-entropy refuses what cannot be, and says what it expected") {
    for (const double s : {-0.1, 1.0, std::nan("")})
        CHECK(
            why({.smoothing = s, .towards = {1.0}}).starts_with("smoothed_cross_entropy: smooth"));
    CHECK(why({.smoothing = 1.5, .towards = {1.0}}) ==
          "smoothed_cross_entropy: smoothing is 1.5; it must be at least 0 and below 1");
    CHECK(why({}) ==
          "smoothed_cross_entropy: towards has no frequencies; expected one for each output, see "
          "frequencies_of");
    CHECK(why({.towards = {1.25, -0.25}}) ==
          "smoothed_cross_entropy: the frequency of output 1 is -0.250000; expected at least 0 and "
          "finite");
    for (const double bad : {std::nan(""), HUGE_VAL})
        CHECK(
            why({.towards = {bad, 0.5}}).starts_with("smoothed_cross_entropy: the frequency of "));
    CHECK(why({.towards = {0.5, 0.25}}) ==
          "smoothed_cross_entropy: the sum of all frequencies is 0.750000; expected 1");
    CHECK(why({.towards = {3.0, 1.0}}) ==
          "smoothed_cross_entropy: the sum of all frequencies is 4.000000; expected 1");
    CHECK(why({.towards = {0.5, 0.5000005}}) == "");  // as floats add up

    const std::vector<float> logits(6);
    const std::array<std::int32_t, 2> labels{0, 3}, good{0, 2};
    const smoothed_cross_entropy two{.towards = {0.5, 0.5}}, three{.towards = {0.5, 0.5, 0.0}};
    CHECK(why(two, logits, good) ==
          "smoothed_cross_entropy: towards has 2 frequencies; expected 3, one for each output");
    CHECK(why(three, logits, labels) ==
          "smoothed_cross_entropy: example 1 has label 3; expected 0 to 3 exclusive, the number of "
          "outputs");
    CHECK(why(three, std::span(logits).first(5), good) ==
          "smoothed_cross_entropy: 5 logits for 2 labels; expected a multiple");
    CHECK(why(three, logits, good) == "");
    std::vector<float> too_short(5);
    CHECK_THROWS_AS(three.gradient(logits, good, too_short), sotto::invalid_option);
}

TEST_CASE("configurations with other frequencies differ") {
    const auto text = [](std::vector<double> towards) {
        return sotto::detail::description()
            .add("loss", smoothed_cross_entropy{.towards = std::move(towards)})
            .text();
    };
    CHECK(text({0.5, 0.5}) == text({0.5, 0.5}));
    CHECK(text({0.5, 0.5}) != text({0.25, 0.75}));
    CHECK(text({0.5, 0.5}) != text({0.5, 0.5, 0.0}));
}
