#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/data/labelled_set.hpp"
#include "sotto/data/sampler.hpp"

namespace sotto::detail::data {

/// Returns the logarithm of a Gamma(shape, 1) draw. For a small shape the draw itself underflows:
/// at shape 0.001 half of the draws are below 1e-300.
///   math    rejection (Marsaglia and Tsang 2000); for a shape below 1 it is Gamma(shape + 1)
///           U^(1 / shape)
double log_gamma_draw(random_stream& random, double shape);

}  // namespace sotto::detail::data

namespace sotto::data {

/// The order in which examples are assigned to ranks. Labels run out, so the last assignments get
/// the remaining labels.
enum class dirichlet_order : std::uint8_t {
    in_turns,      // one example per rank in turn: exhausted labels affect all ranks
    rank_by_rank,  // all of one rank, then all of the next, as in the published split
};

/// Assigns examples to ranks with non-identical label distributions. Each rank draws a random
/// mixture of the labels and receives examples by it. A smaller alpha gives less even mixtures.
/// Every example is assigned once, and the sizes of the ranks' shares differ by at most one.
///   math    q ~ Dirichlet(alpha p) for each rank, with p the labels' frequencies in the data. A
///           rank's examples are drawn by q from the remaining ones; exhausted labels are left out
///           of q. `rank_by_rank` is the split of Hsu et al.: a mixture of labels for each rank,
///           ranks of equal size, assigned one after the other. `in_turns` is milder. For ten
///           labels, eight ranks and alpha 0.1, the variance of a label's share of a rank is 0.032,
///           and 0.050 in the published split.
///           Other splits, such as the one of epfml's code (quasi-global momentum), draw for each
///           label how ranks share it, Dirichlet(alpha, ..., alpha) over the ranks. With K equally
///           frequent labels a rank then has about Dirichlet(alpha, ..., alpha) over the labels,
///           which is this split with K alpha. For ten labels their 0.1 is 1 here, and 0.1 here is
///           their 0.01
///   cost    O(examples (labels + log))
///   errors  invalid_option: ranks below 1, alpha not above 0, labels below 0
///   source  Hsu, Qi, Brown 2019, Measuring the effects of non-identical data distribution,
///           arXiv:1909.06335
std::vector<std::vector<std::int64_t>> dirichlet_split(
    std::span<const std::int32_t> labels, std::int64_t ranks, double alpha, random_stream random,
    dirichlet_order order = dirichlet_order::in_turns);

/// Returns one rank's share of dirichlet_split: `fit(local_data{dirichlet_share(digits, {rank,
/// size}, 0.1, random)}, ...)`. All ranks must pass the same stream and order.
labelled_set dirichlet_share(const labelled_set& all, detail::data::share part, double alpha,
                             random_stream random,
                             dirichlet_order order = dirichlet_order::in_turns);

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/dirichlet_split.ipp"
#endif
