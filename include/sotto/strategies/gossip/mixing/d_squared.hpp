#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/strategies/gossip/mixing/mixing_method.hpp"

namespace sotto::mixing {

/// D^2, or exact diffusion: each step is corrected by what the one before has left of ranks' own
/// ways, so that data which differ between ranks do not hold them apart.
///   math    psi = x - rate g(x);  x = W (psi + x - psi of the step before), in the first step
///           x = W psi. The rate stays inside psi, so that it may change from step to step
///   shape   needs a matrix without eigenvalues of -1/3 or below: not the ring of an even number,
///           but topologies::lazy{ring{}}. It must be the same in all rounds: by matrices that take
///           turns or are drawn anew it diverges. So it does, more rarely, where the number of
///           rounds changes much from step to step: by 1, 1 and 60 in turn on a lazy ring of 8,
///           though not by 1, 1 and 4; a number for good is safe
///   cost    8 bytes a parameter, two passes more
///   source  Tang et al. 2018, D^2: Decentralized training over decentralized data,
///           arXiv:1803.07068; Yuan et al. 2019, Exact diffusion
struct d_squared {
    static constexpr double smallest_eigenvalue = -1.0 / 3.0;
    static constexpr bool corrects_last_step = true;
    class state;
    state bind(const layout& tensors) const;
    void describe(auto&&) const {}
};

class d_squared::state {
public:
    explicit state(const layout& tensors)
        : before_(static_cast<std::size_t>(tensors.size())),
          now_(static_cast<std::size_t>(tensors.size())) {}

    void correct(const tensor& t, std::span<const float> parameters, std::span<float> next);

    void commit() noexcept;
    void visit(auto&& field) {
        field("before", std::span<float>(before_));
        field("has_before", has_before_);
    }

private:
    detail::large_vector<float> before_, now_;
    std::int64_t has_before_ = 0;  // 0 or 1
};

inline d_squared::state d_squared::bind(const layout& tensors) const {
    return state(tensors);
}

}  // namespace sotto::mixing

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/gossip/mixing/d_squared.ipp"
#endif
