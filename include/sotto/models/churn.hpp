#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/finite.hpp"

namespace sotto {

/// How much what two models say of the same examples differs: of two trainings of one model, whose
/// accuracy may be the same all the while, or of one before and after it was trained again.
struct churn {
    double difference = 0.0;    // mean over examples and outputs of |p_a - p_b|
    double flips = 0.0;         // the part of the examples of which they say another output
    std::int64_t examples = 0;  // of none the others are 0
};

}  // namespace sotto

namespace sotto::detail {

/// Refuses what are no probabilities: logits, above all.
inline void check_probabilities(const char* which, std::span<const float> values,
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

/// The churn between two sets of predictions.
///   math    difference: mean over examples of the mean over outputs of |p_a - p_b|;  flips: part
///           of the examples with another largest probability, of equal ones the first. With 1
///           output it is the probability of yes, and the answer is yes above 1/2: the churn is
///           that of a yes beside its no, 2 outputs
///   shape   a, b: examples x outputs, row-major; an example may be a position of a sequence
///   errors  invalid_option: sets of different size, or not of whole rows; a value that is below 0,
///           above 1 or no number, a row whose sum is not 1, within 1/1000: no probabilities
///   source  Anil et al. 2018, arXiv:1804.03235
inline churn churn_between(std::span<const float> a, std::span<const float> b,
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
