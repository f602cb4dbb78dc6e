#pragma once

#include "sotto/data/dirichlet_split.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::detail::data {

SOTTO_DECL double log_gamma_draw(random_stream& random, double shape) {
    const auto uniform = [&] { return (static_cast<double>(random()) + 0.5) * 0x1p-32; };
    if (shape < 1.0) {
        const double of_more = log_gamma_draw(random, shape + 1.0);
        // A smaller divisor could make the result infinite: log U is above -23.
        return of_more + std::log(uniform()) / (std::max)(shape, 1e-300);
    }
    const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
    while (true) {
        const double x = double{random.normal()}, v = std::pow(1.0 + c * x, 3.0);
        if (v > 0.0 && std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
            return std::log(d * v);
    }
}

}  // namespace sotto::detail::data

namespace sotto::data {

SOTTO_DECL std::vector<std::vector<std::int64_t>> dirichlet_split(
    std::span<const std::int32_t> labels, std::int64_t ranks, double alpha, random_stream random,
    dirichlet_order order) {
    if (ranks < 1)
        throw invalid_option("dirichlet_split: " + std::to_string(ranks) +
                             " ranks; at least 1 is possible");
    require_option("dirichlet_split", "alpha", alpha, detail::allowed::above(0.0).as_double());
    std::vector<std::vector<std::int64_t>> left;  // by label, shuffled
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] < 0)
            throw invalid_option("dirichlet_split: example " + std::to_string(i) + " has label " +
                                 std::to_string(labels[i]) + "; expected at least 0");
        const auto label = static_cast<std::size_t>(labels[i]);
        if (label >= left.size()) left.resize(label + 1);
        left[label].push_back(static_cast<std::int64_t>(i));
    }
    std::vector<double> shares;
    for (std::size_t label = 0; label < left.size(); ++label) {
        shares.push_back(static_cast<double>(left[label].size()) /
                         static_cast<double>(labels.size()));
        random_stream places = random.split("order").split(label);
        for (std::size_t n = left[label].size(); n > 1; --n)
            std::swap(left[label][n - 1], left[label][static_cast<std::size_t>(places.below(n))]);
    }

    std::vector<std::vector<std::int64_t>> owned(static_cast<std::size_t>(ranks));
    std::vector<std::vector<double>> log_mixtures(owned.size());
    for (std::size_t rank = 0; rank < owned.size(); ++rank) {
        random_stream draws = random.split("mixture").split(rank);
        for (const double share : shares)
            log_mixtures[rank].push_back(
                share > 0.0 ? detail::data::log_gamma_draw(draws, alpha * share) : 0.0);
    }
    random_stream draws = random.split("draws");
    std::vector<double> weights(left.size());
    // In both orders the first ranks get one more if examples do not divide evenly.
    const std::size_t each = labels.size() / owned.size(), longer = labels.size() % owned.size();
    std::size_t rank = 0;
    for (std::size_t dealt = 0; dealt < labels.size(); ++dealt) {
        if (order == dirichlet_order::in_turns)
            rank = dealt % owned.size();
        else
            while (owned[rank].size() == each + (rank < longer ? 1 : 0)) ++rank;
        const auto& mixture = log_mixtures[rank];
        // Relative to the largest remaining weight, which becomes 1 even if it would underflow.
        double largest = -std::numeric_limits<double>::infinity(), all = 0.0;
        for (std::size_t label = 0; label < left.size(); ++label)
            if (!left[label].empty()) largest = (std::max)(largest, mixture[label]);
        for (std::size_t label = 0; label < left.size(); ++label) {
            weights[label] = left[label].empty() ? 0.0 : std::exp(mixture[label] - largest);
            all += weights[label];
        }
        double at = (static_cast<double>(draws()) + 0.5) * 0x1p-32 * all;
        std::size_t chosen = left.size();
        for (std::size_t label = 0; label < left.size() && at >= 0.0; ++label) {
            if (left[label].empty()) continue;
            chosen = label;
            at -= weights[label];
        }
        owned[rank].push_back(left[chosen].back());
        left[chosen].pop_back();
    }
    return owned;
}

SOTTO_DECL labelled_set dirichlet_share(const labelled_set& all, detail::data::share part,
                                        double alpha, random_stream random, dirichlet_order order) {
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; i < all.size(); ++i) labels.push_back(all.label(i));
    if (part.index < 0 || part.index >= part.count)
        throw invalid_option("dirichlet_share: part " + std::to_string(part.index) + " of " +
                             std::to_string(part.count) +
                             "; the first is 0 and the last one less than their number");
    return all.subset(dirichlet_split(labels, part.count, alpha, random,
                                      order)[static_cast<std::size_t>(part.index)]);
}

}  // namespace sotto::data
