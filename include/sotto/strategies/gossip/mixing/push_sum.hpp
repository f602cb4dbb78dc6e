#pragma once

#include "sotto/strategies/gossip/mixing/mixing_method.hpp"

namespace sotto::mixing {

/// Stochastic gradient push: links may go one way and ranks have any number of them. Each shares
/// out what it has, and a weight with it; the parameters are what it has over the weight.
///   math    with columns of P that add up to 1: x = P (x - rate g(z)), a = P a, z = x / a, where a
///           is 1 at first. The sum of a is the number of ranks, and that of x is kept, but for the
///           rounding of single values: what a rank gives away and keeps adds up to 1 exactly
///   shape   what each rank has must come to every other over links as they go. How far ranks are
///           apart is estimated of z: sum over j of p_ij a_j / a_i' (z_j - z_i), where a_i' is the
///           weight after the round, is what a round adds to it
///   wire    a float more than the parameters
///   cost    4 bytes a parameter
///   source  Assran et al. 2019, Stochastic gradient push, arXiv:1811.10792; Kempe et al. 2003
struct push_sum {
    static constexpr bool by_shares = true;
    struct state {};
    state bind(const layout&) const { return {}; }
    void describe(auto&&) const {}
};

}  // namespace sotto::mixing
