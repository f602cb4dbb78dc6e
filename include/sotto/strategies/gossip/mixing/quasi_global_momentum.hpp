#pragma once

#include <span>

#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/strategies/gossip/mixing/mixing_method.hpp"

namespace sotto::mixing {

/// Momentum of where the mixed parameters go, in place of a rank's own gradients: where data differ
/// between ranks, those would pull them apart.
///   math    m = momentum * q + g;  x' = W (x - rate m), with Nesterov by g + momentum * m;
///           q = follow * q + (1 - follow) (x - x') / rate
///   cost    4 bytes a parameter; nothing more between ranks
///   errors  invalid_option: momentum or follow not in [0, 1)
///   source  Lin et al. 2021, Quasi-global momentum, arXiv:2102.04761
struct quasi_global_momentum {
    double momentum = 0.9;  // of a step, from q
    double follow = 0.9;    // what of q is kept a step
    bool nesterov = true;   // whether a step is by g + momentum * m

    static constexpr bool needs_rate = true;
    static constexpr bool plain_steps = true;
    class state;
    state bind(const layout& tensors) const;
    void describe(auto&& field) const {
        field("momentum", momentum);
        field("follow", follow);
        field("nesterov", nesterov);
    }
};

class quasi_global_momentum::state {
public:
    state(const quasi_global_momentum& options, const layout& tensors);

    void direct(const tensor& t, std::span<float> gradient);

    void settle(std::span<const float> parameters, std::span<float> next, double rate);

    void visit(auto&& field) { field("followed", std::span<float>(followed_)); }

private:
    quasi_global_momentum options_;
    detail::large_vector<float> followed_;
};

inline quasi_global_momentum::state quasi_global_momentum::bind(const layout& tensors) const {
    return {*this, tensors};
}

}  // namespace sotto::mixing

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/gossip/mixing/quasi_global_momentum.ipp"
#endif
