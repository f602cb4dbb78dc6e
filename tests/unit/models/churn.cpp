#include "sotto/models/churn.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"

using namespace sotto;

namespace {

using floats = std::vector<float>;

std::string why(const floats& a, const floats& b, std::int64_t outputs) {
    try {
        churn_between(a, b, outputs);
    } catch (const invalid_option& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("churn is the mean difference of probabilities and the part of answers that flip") {
    const floats a{0.5f, 0.25f, 0.25f, 0.0f, 1.0f, 0.0f}, b{0.25f, 0.5f, 0.25f, 0.25f, 0.75f, 0.0f};
    const churn found = churn_between(a, b, 3);
    CHECK(found.difference == 1.0 / 6.0);
    CHECK(found.flips == 0.5);
    CHECK(found.examples == 2);
}

TEST_CASE("predictions do not differ from themselves, and as much one way as the other") {
    random_stream random{3};
    floats a(40), b(40);
    for (floats* set : {&a, &b})
        for (std::size_t i = 0; i < set->size(); i += 4) {
            float sum = 0.0f;
            for (std::size_t j = i; j < i + 4; ++j) sum += (*set)[j] = random.uniform();
            for (std::size_t j = i; j < i + 4; ++j) (*set)[j] /= sum;
        }
    CHECK(churn_between(a, a, 4).difference == 0.0);
    CHECK(churn_between(a, a, 4).flips == 0.0);
    const churn there = churn_between(a, b, 4), back = churn_between(b, a, 4);
    CHECK(there.difference > 0.0);
    CHECK(there.flips > 0.0);
    CHECK(there.difference == back.difference);
    CHECK(there.flips == back.flips);
}

TEST_CASE("one output is the probability of yes: the same churn as of yes beside no") {
    const floats a{0.75f, 0.5f, 0.25f, 0.5f, 1.0f}, b{0.25f, 0.5f, 0.375f, 0.625f, 1.0f};
    floats both_a, both_b;
    for (const float p : a) both_a.insert(both_a.end(), {1.0f - p, p});
    for (const float p : b) both_b.insert(both_b.end(), {1.0f - p, p});
    const churn one = churn_between(a, b, 1), two = churn_between(both_a, both_b, 2);
    CHECK(one.difference == (0.5 + 0.0 + 0.125 + 0.125 + 0.0) / 5.0);
    CHECK(one.flips == 2.0 / 5.0);
    CHECK(one.examples == 5);
    CHECK(two.difference == one.difference);
    CHECK(two.flips == one.flips);
    CHECK(two.examples == 5);
}

TEST_CASE("models that are sure of different outputs differ by as much as can be") {
    const floats a{1.0f, 0.0f, 0.0f, 1.0f}, b{0.0f, 1.0f, 1.0f, 0.0f};
    CHECK(churn_between(a, b, 2).difference == 1.0);
    CHECK(churn_between(a, b, 2).flips == 1.0);
}

TEST_CASE("of no examples there is no churn") {
    const churn none = churn_between({}, {}, 3);
    CHECK(none.difference == 0.0);
    CHECK(none.flips == 0.0);
    CHECK(none.examples == 0);
}

TEST_CASE("what are no two sets of probabilities is refused by its place") {
    const floats good{0.5f, 0.5f, 0.25f, 0.75f};
    CHECK(why(good, {0.5f, 0.5f}, 2) ==
          "churn_between: the second set has 2 probabilities; expected 4, as the first has");
    CHECK(why(good, good, 3) == "churn_between: 4 probabilities in rows of 3; expected a multiple");
    CHECK(why(good, good, 0) == "churn_between: there are 0 outputs; expected at least 1");
    CHECK(why(good, {0.5f, 0.5f, -0.5f, 1.0f}, 2) ==
          "churn_between: the second set, example 1: the probability of output 0 is -0.500000; "
          "expected 0 to 1");
    CHECK(why({0.5f, 0.5f, 1.0f, 2.5f}, good, 2) ==
          "churn_between: the first set, example 1: the probability of output 1 is 2.500000; "
          "expected 0 to 1");
    CHECK(why(good, {0.5f, 0.25f, 0.25f, 0.75f}, 2) ==
          "churn_between: the second set, example 0: the sum of its probabilities is 0.750000; "
          "expected 1");
    CHECK(why({std::nanf("")}, {0.5f}, 1).find("is nan; expected 0 to 1") != std::string::npos);
    CHECK(why({0.25f}, {0.5f}, 1) == "");
}
