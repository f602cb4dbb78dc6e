#pragma once

#include "sotto/strategies/gossip/mixing/mixing_method.hpp"

/// How gossip mixes the parameters of neighbours.
namespace sotto::mixing {

/// The step first, then the mean with neighbours. Momentum of the optimizer stays a rank's own.
///   math    x_i = sum over j of w_ij (x_j - rate g_j(x_j))
///   cost    nothing beside the parameters. Layers mix while those before them still compute
///   source  Cattivelli and Sayed 2010; decentralized SGD as in Kong et al. 2021, arXiv:2102.04828
struct adapt_then_combine {
    struct state {};
    state bind(const layout&) const { return {}; }
    void describe(auto&&) const {}
};

/// The mean of the parameters as they were, and the step of the gradient at them: D-PSGD. All of
/// the exchange goes on while the gradient is computed.
///   math    x_i = sum over j of w_ij x_j - rate g_i(x_i). Distances are of the sum, before the
///           step, so that by noise alone they are those of adapt_then_combine; the parameters at
///           which gradients are taken are apart by ranks' steps as well
///   cost    nothing beside the parameters
///   source  Lian et al. 2017, Can decentralized algorithms outperform centralized algorithms?,
///           arXiv:1705.09056
struct combine_then_adapt {
    static constexpr bool combines_first = true;
    struct state {};
    state bind(const layout&) const { return {}; }
    void describe(auto&&) const {}
};

}  // namespace sotto::mixing
