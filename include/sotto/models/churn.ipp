#pragma once

#include "sotto/models/churn.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail {

SOTTO_DECL void check_probabilities(const char* which, std::span<const float> values,
                                    std::size_t outputs) {
    const auto refuse = [&](std::size_t row, const std::string& what, const char* expected) {
        throw invalid_option("churn_between: " + std::string(which) + ", example " +
                             std::to_string(row) + ": " + what + "; expected " + expected);
    };
    for (std::size_t i = 0; i < values.size(); i += outputs) {
        double sum = 0.0;
        for (std::size_t j = 0; j < outputs; ++j) {
            const float p = values[i + j];
            if (!is_finite(p) || p < 0.0f || p > 1.001f)
                refuse(
                    i / outputs,
                    "the probability of output " + std::to_string(j) + " is " + std::to_string(p),
                    "0 to 1");
            sum += p;
        }
        if (outputs > 1 && !(std::abs(sum - 1.0) <= 1e-3))
            refuse(i / outputs, "the sum of its probabilities is " + std::to_string(sum), "1");
    }
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL churn churn_between(std::span<const float> a, std::span<const float> b,
                               std::int64_t outputs) {
    if (outputs < 1)
        throw invalid_option("churn_between: there are " + std::to_string(outputs) +
                             " outputs; expected at least 1");
    if (a.size() != b.size())
        throw invalid_option("churn_between: the second set has " + std::to_string(b.size()) +
                             " probabilities; expected " + std::to_string(a.size()) +
                             ", as the first has");
    const auto width = static_cast<std::size_t>(outputs);
    if (a.size() % width != 0)
        throw invalid_option("churn_between: " + std::to_string(a.size()) +
                             " probabilities in rows of " + std::to_string(outputs) +
                             "; expected a multiple");
    detail::check_probabilities("the first set", a, width);
    detail::check_probabilities("the second set", b, width);
    const auto said = [&](std::span<const float> row) {
        if (width == 1) return static_cast<std::ptrdiff_t>(row[0] > 0.5f);
        return std::max_element(row.begin(), row.end()) - row.begin();
    };
    double difference = 0.0;
    std::int64_t flips = 0;
    for (std::size_t i = 0; i < a.size(); i += width) {
        for (std::size_t j = i; j < i + width; ++j)
            difference += std::abs(double{a[j]} - double{b[j]});
        flips += said(a.subspan(i, width)) != said(b.subspan(i, width));
    }
    churn found;
    if (a.empty()) return found;
    found.examples = static_cast<std::int64_t>(a.size() / width);
    found.difference = difference / static_cast<double>(a.size());
    found.flips = static_cast<double>(flips) / static_cast<double>(found.examples);
    return found;
}

}  // namespace sotto
