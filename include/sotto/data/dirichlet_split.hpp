#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/data/labelled_set.hpp"
#include "sotto/data/sampler.hpp"

namespace sotto::detail::data {

/// The logarithm of Gamma(shape, 1). Of a small shape draws are nearer to 0 than doubles reach: at
/// 0.001 half of them are below 1e-300.
///   math    by squeezing (Marsaglia and Tsang 2000); below 1 as Gamma(shape + 1) U^(1 / shape)
double log_gamma_draw(random_stream& random, double shape);

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
std::vector<std::vector<std::int64_t>> dirichlet_split(
    std::span<const std::int32_t> labels, std::int64_t ranks, double alpha, random_stream random,
    dirichlet_order order = dirichlet_order::in_turns);

/// One rank's part of that: `fit(local_data{dirichlet_share(digits, {rank, size}, 0.1, random)},
/// ...)`, with the same stream and order on all ranks.
labelled_set dirichlet_share(const labelled_set& all, detail::data::share part, double alpha,
                             random_stream random,
                             dirichlet_order order = dirichlet_order::in_turns);

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/dirichlet_split.ipp"
#endif
