#pragma once

#include <cstdint>

#include "sotto/strategies/gossip/mixing/mixing_method.hpp"

namespace sotto::mixing {

/// AD-PSGD: while a rank computes a gradient it takes the mean of its parameters and those of one
/// neighbour, whom chance chooses, and nobody waits for all: whoever is slow mixes less.
///   math    x_i and x_j become their mean; then x_i -= rate g, with g computed at x_i as it was
///           when the step began. What one gains the other loses, whatever else moves either
///           meanwhile, so that the mean over the ranks is kept
///   shape   links that go both ways, and join all ranks. What they weigh does not count: of its
///           neighbours a rank chooses one, all alike, and both take their mean
///   wire    the parameters, there, and back how they are to change
///   cost    16 bytes a parameter
///   errors  invalid_option: links that go one way or do not join all ranks; measure_every
///   source  Lian et al. 2018, Asynchronous decentralized parallel stochastic gradient descent,
///           arXiv:1710.06952
struct asynchronous_pairs {
    std::uint64_t seed = 1;  // of the draws of neighbours

    static constexpr bool in_pairs = true;
    struct state {};
    state bind(const layout&) const { return {}; }
    void describe(auto&& field) const { field("seed", seed); }
};

}  // namespace sotto::mixing
