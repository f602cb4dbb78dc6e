#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/distillation/forward_kl.hpp"
#include "sotto/distillation/reverse_kl.hpp"
#include "sotto/distillation/soft_cross_entropy.hpp"
#include "sotto/distillation/squared_logit_error.hpp"
#include "sotto/losses/cross_entropy.hpp"

using namespace sotto;

namespace {

constexpr std::size_t rows = 4, outputs = 5;

std::vector<float> random_logits(std::uint64_t seed) {
    random_stream random{seed};
    std::vector<float> logits(rows * outputs);
    for (float& z : logits) z = random.uniform(-3.0f, 3.0f);
    return logits;
}

template <class Loss>
std::vector<float> targets_of(const Loss& loss, const std::vector<std::vector<float>>& teachers) {
    std::vector<float> targets(teachers.front().size());
    for (const auto& teacher : teachers)
        loss.add(teacher, outputs, 1.0 / static_cast<double>(teachers.size()), targets);
    return targets;
}

template <class Loss>
std::vector<Loss> at_temperatures() {
    if constexpr (requires { Loss{.temperature = 1.0}; })
        return {Loss{}, Loss{.temperature = 0.5}, Loss{.temperature = 4.0}};
    else
        return {Loss{}};
}

template <class Loss>
std::vector<float> gradient_of(const Loss& loss, const std::vector<float>& logits,
                               const std::vector<float>& targets, double weight = 1.0) {
    std::vector<float> out(logits.size());
    loss.gradient(logits, outputs, targets, weight, out);
    return out;
}

}  // namespace

#define EVERY_LOSS soft_cross_entropy, forward_kl, reverse_kl, squared_logit_error

TEST_CASE_TEMPLATE("the gradient is the slope of the value, with the teachers held", Loss,
                   EVERY_LOSS) {
    static_assert(distillation_loss<Loss>);
    const auto logits = random_logits(1);
    for (const Loss& loss : at_temperatures<Loss>()) {
        const auto targets = targets_of(loss, {random_logits(2), random_logits(3)});
        std::vector<float> gradient(logits.size());
        CHECK(loss.gradient(logits, outputs, targets, 1.0, gradient) ==
              loss.value(logits, outputs, targets));
        for (std::size_t i = 0; i < logits.size(); ++i) {
            auto up = logits, down = logits;
            up[i] += 0.0078125f;
            down[i] -= 0.0078125f;
            const double slope =
                (loss.value(up, outputs, targets) - loss.value(down, outputs, targets)) / 0.015625;
            CHECK(double{gradient[i]} == doctest::Approx(slope).epsilon(1e-3).scale(0.1));
        }
    }
}

TEST_CASE_TEMPLATE("a teacher that is the student teaches exactly nothing", Loss,
                   soft_cross_entropy, forward_kl, squared_logit_error) {
    for (std::uint64_t seed = 100; seed < 200; ++seed) {
        auto logits = random_logits(seed);
        for (float& z : logits) z *= static_cast<float>(seed % 7);  // in some all are the same
        for (const Loss& loss : at_temperatures<Loss>())
            for (const float slope : gradient_of(loss, logits, targets_of(loss, {logits}), 3.0))
                CHECK(slope == 0.0f);
    }
}

TEST_CASE("and next to nothing by the reverse divergence, whose targets are floats with a floor") {
    const auto logits = random_logits(4);
    for (const reverse_kl& loss : at_temperatures<reverse_kl>())
        for (const float slope : gradient_of(loss, logits, targets_of(loss, {logits})))
            CHECK(std::abs(slope) < 1e-7f);
}

TEST_CASE("of a teacher that is the student the divergence is 0, the cross-entropy an entropy") {
    const auto logits = random_logits(4);
    CHECK(forward_kl{}.value(logits, outputs, targets_of(forward_kl{}, {logits})) ==
          doctest::Approx(0.0));
    CHECK(soft_cross_entropy{}.value(logits, outputs, targets_of(soft_cross_entropy{}, {logits})) >
          0.1);  // their entropy
}

TEST_CASE_TEMPLATE("no gradient reaches a teacher or its targets", Loss, EVERY_LOSS) {
    const auto logits = random_logits(4), teacher = random_logits(5);
    for (const Loss& loss : at_temperatures<Loss>()) {
        const auto student = logits;
        auto told = teacher;
        const auto targets = targets_of(loss, {told});
        auto given = targets;
        std::vector<float> out(logits.size());
        loss.gradient(student, outputs, given, 2.0, out);
        CHECK(given == targets);
        CHECK(told == teacher);
        CHECK(student == logits);
    }
}

TEST_CASE_TEMPLATE("a gradient is added to what is there, by its weight", Loss, EVERY_LOSS) {
    const auto logits = random_logits(5);
    const Loss loss;
    const auto targets = targets_of(loss, {random_logits(6)});
    const auto alone = gradient_of(loss, logits, targets);
    std::vector<float> out(logits.size(), 1.0f);
    loss.gradient(logits, outputs, targets, 0.25, out);
    for (std::size_t i = 0; i < out.size(); ++i)
        CHECK(out[i] == doctest::Approx(1.0 + 0.25 * double{alone[i]}));
}

TEST_CASE_TEMPLATE("targets of distributions sum to one, however many teachers there are", Loss,
                   soft_cross_entropy, forward_kl, reverse_kl) {
    for (const Loss& loss : at_temperatures<Loss>()) {
        const auto targets =
            targets_of(loss, {random_logits(7), random_logits(8), random_logits(9)});
        for (std::size_t i = 0; i < rows; ++i) {
            const auto row = targets.begin() + static_cast<std::ptrdiff_t>(i * outputs);
            CHECK(std::accumulate(row, row + outputs, 0.0) == doctest::Approx(1.0).epsilon(1e-6));
        }
    }
}

TEST_CASE("the mean is of probabilities: that of three is not the softmax of their mean logits") {
    const std::vector<std::vector<float>> teachers{{4.0f, 0.0f, 0.0f, 0.0f, 0.0f},
                                                   {0.0f, 4.0f, 0.0f, 0.0f, 0.0f},
                                                   {0.0f, 0.0f, 0.0f, 0.0f, 0.0f}};
    const auto targets = targets_of(forward_kl{}, teachers);
    const double e = std::exp(4.0), sure = e / (e + 4.0), unsure = 1.0 / (e + 4.0);
    CHECK(double{targets[0]} == doctest::Approx((sure + unsure + 0.2) / 3.0));
    CHECK(double{targets[2]} == doctest::Approx((2.0 * unsure + 0.2) / 3.0));
}

TEST_CASE("a teacher that is certain is a second label, one that knows nothing smooths them") {
    const auto logits = random_logits(10);
    const std::vector<std::int32_t> labels{0, 4, 2, 2};
    std::vector<float> certain(logits.size()), nothing(logits.size(), 0.75f);
    for (std::size_t i = 0; i < rows; ++i)
        certain[i * outputs + static_cast<std::size_t>(labels[i])] = 200.0f;
    std::vector<float> by_labels(logits.size());
    const double loss = cross_entropy{}.gradient(logits, labels, by_labels);
    const auto second = targets_of(soft_cross_entropy{}, {certain});
    CHECK(soft_cross_entropy{}.value(logits, outputs, second) == doctest::Approx(loss));
    const auto by_teacher = gradient_of(soft_cross_entropy{}, logits, second);
    for (std::size_t i = 0; i < logits.size(); ++i)
        CHECK(double{by_teacher[i]} == doctest::Approx(double{by_labels[i]}).scale(1.0));

    // (p - y) + a (p - 1/c) = (1 + a) (p - (1 - s) y - s/c) with s = a / (1 + a).
    const double a = 0.25;
    auto both = by_labels;
    soft_cross_entropy{}.gradient(logits, outputs, targets_of(soft_cross_entropy{}, {nothing}), a,
                                  both);
    std::vector<float> smoothed(logits.size());
    cross_entropy{.label_smoothing = a / (1.0 + a)}.gradient(logits, labels, smoothed);
    for (std::size_t i = 0; i < logits.size(); ++i)
        CHECK(double{both[i]} == doctest::Approx((1.0 + a) * double{smoothed[i]}).scale(1.0));
}

TEST_CASE("forward and reverse divergence keep to their sides") {
    // The teacher is certain of output 0; the student thinks 0 and 1 alike.
    const std::vector<float> teacher{30.0f, 0.0f}, student{0.0f, 0.0f};
    std::vector<float> targets(2);
    forward_kl{}.add(teacher, 2, 1.0, targets);
    CHECK(forward_kl{}.value(student, 2, targets) == doctest::Approx(std::log(2.0)));
    // Half of the student's belief is in what the teacher rules out, but for the floor.
    CHECK(reverse_kl{.floor = 1e-4}.value(student, 2, targets) ==
          doctest::Approx(0.5 * std::log(0.5) + 0.5 * std::log(0.5 / 1e-4)));
}

TEST_CASE_TEMPLATE("what does not fit is refused, nothing has a loss of zero", Loss, EVERY_LOSS) {
    const Loss loss;
    std::vector<float> four(4), six(6);
    CHECK(loss.value({}, 3, {}) == 0.0);
    CHECK(loss.value({}, 0, {}) == 0.0);
    CHECK_THROWS_AS(loss.value(four, 3, four), invalid_option);
    CHECK_THROWS_AS(loss.value(six, 3, four), invalid_option);
    CHECK_THROWS_AS(loss.gradient(six, 3, six, 1.0, four), invalid_option);
    CHECK_THROWS_AS(loss.gradient(six, 3, four, 1.0, six), invalid_option);
    CHECK_THROWS_AS(loss.add(six, 3, 1.0, four), invalid_option);
    CHECK_THROWS_AS(loss.add(four, 3, 1.0, four), invalid_option);
}

TEST_CASE("options that cannot work are refused by name, without rows too") {
    const auto why = [](const auto& loss) -> std::string {
        try {
            loss.value({}, 3, {});
        } catch (const invalid_option& e) {
            return e.what();
        }
        return "";
    };
    CHECK(why(forward_kl{.temperature = 0.0}) ==
          "forward_kl: temperature is 0; it must be finite and above 0");
    CHECK(why(soft_cross_entropy{.temperature = std::nan("")}).starts_with("soft_cross_entropy: "));
    CHECK(why(reverse_kl{.temperature = -1.0}).starts_with("reverse_kl: temperature is -1"));
    CHECK(why(reverse_kl{.floor = 0.0}) ==
          "reverse_kl: floor is 0; it must be above 0 and below 1");
}
