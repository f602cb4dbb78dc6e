#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/data/labelled_set.hpp"
#include "sotto/data/sampler.hpp"

namespace sotto::detail::data {

/// The logarithm of Gamma(shape, 1). Of a small shape draws are nearer to 0 than doubles reach: at
/// 0.001 half of them are below 1e-300.
///   math    by squeezing (Marsaglia and Tsang 2000); below 1 as Gamma(shape + 1) U^(1 / shape)
inline double log_gamma_draw(random_stream& random, double shape) {
    const auto uniform = [&] { return (static_cast<double>(random()) + 0.5) * 0x1p-32; };
    if (shape < 1.0) {
        const double of_more = log_gamma_draw(random, shape + 1.0);
        // No smaller divisor, for the result to be finite: log U is above -23.
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

/// The order in which ranks are dealt their examples. Labels run out: the last rank gets what the
/// others left.
enum class dirichlet_order : std::uint8_t {
    in_turns,      // one example each, again and again: all ranks meet labels that ran out
    rank_by_rank,  // all of one rank, then all of the next, as in the published split
};

/// Which examples each of several ranks owns, where ranks differ in what they see: each draws a
/// mixture of the labels by chance, the more lopsided the smaller alpha is, and is dealt examples
/// by it. All have equally many, but for one; every example is dealt once.
///   math    q ~ Dirichlet(alpha p) for each rank, with p the labels' shares of the data; a rank's
///           examples are drawn by q from those that are left, labels without any are left out of
///           q. `rank_by_rank` is the split of Hsu et al.: a mixture of labels for each rank, and
///           ranks of equal size, one dealt after the other. `in_turns` is milder: of ten labels,
///           eight ranks and alpha 0.1 the variance of a label's share of a rank is 0.032, and
///           0.050 of the published split.
///           Others, such as that of epfml's code (quasi-global momentum), draw for
///           each label how ranks share it, Dirichlet(alpha, ..., alpha) over the ranks: of K
///           equally frequent labels a rank then has about Dirichlet(alpha, ..., alpha) over the
///           labels, which is this split with K alpha. Of ten labels their 0.1 is 1 here, and 0.1
///           here is their 0.01
///   cost    O(examples (labels + log))
///   errors  invalid_option: ranks below 1, alpha not above 0, labels below 0
///   source  Hsu, Qi, Brown 2019, Measuring the effects of non-identical data distribution,
///           arXiv:1909.06335
inline std::vector<std::vector<std::int64_t>> dirichlet_split(
    std::span<const std::int32_t> labels, std::int64_t ranks, double alpha, random_stream random,
    dirichlet_order order = dirichlet_order::in_turns) {
    if (ranks < 1)
        throw invalid_option("dirichlet_split: " + std::to_string(ranks) +
                             " ranks; at least 1 is possible");
    require_option("dirichlet_split", "alpha", alpha, detail::allowed::above(0.0).as_double());
    std::vector<std::vector<std::int64_t>> left;  // of each label, shuffled
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
    // Either way the first ranks get one more where examples do not divide evenly.
    const std::size_t each = labels.size() / owned.size(), longer = labels.size() % owned.size();
    std::size_t rank = 0;
    for (std::size_t dealt = 0; dealt < labels.size(); ++dealt) {
        if (order == dirichlet_order::in_turns)
            rank = dealt % owned.size();
        else
            while (owned[rank].size() == each + (rank < longer ? 1 : 0)) ++rank;
        const auto& mixture = log_mixtures[rank];
        // Over the largest of those that are left: however small, it then counts for 1.
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

/// One rank's part of that: `fit(own_share{dirichlet_share(digits, {rank, size}, 0.1, random)},
/// ...)`, with the same stream and order on all ranks.
inline labelled_set dirichlet_share(const labelled_set& all, detail::data::share part, double alpha,
                                    random_stream random,
                                    dirichlet_order order = dirichlet_order::in_turns) {
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
