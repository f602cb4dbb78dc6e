#pragma once

#include <span>

#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/strategies/gossip/mixing/mixing_method.hpp"

namespace sotto::mixing {

/// Each rank follows the mean gradient of all by a vector of its own, mixed like the parameters,
/// and steps by that: data that differ between ranks do not hold them apart.
///   math    y = W y + g - g of the step before, y = g in the first; x = W (x - rate y). The mean
///           of y over the ranks is that of the gradients
///   cost    twice the bytes between ranks; 16 bytes a parameter
///   source  Di Lorenzo and Scutari 2016, NEXT, arXiv:1602.00591; Nedic, Olshevsky, Shi 2017
///           (DIGing), arXiv:1607.03218
struct gradient_tracking {
    class state;
    state bind(const layout& tensors) const;
    void describe(auto&&) const {}
};

class gradient_tracking::state {
public:
    explicit state(const layout& tensors);

    void direct(const tensor& t, std::span<float> gradient);

    /// y, which is W y of this step once it was mixed.
    std::span<float> companion() noexcept { return followed_; }

    void commit() noexcept;
    void visit(auto&& field) {
        field("mixed", std::span<float>(mixed_));
        field("before", std::span<float>(before_));
    }

private:
    detail::large_vector<float> mixed_, followed_;  // W y of the step before, y of this one
    detail::large_vector<float> before_, now_;      // gradients
};

inline gradient_tracking::state gradient_tracking::bind(const layout& tensors) const {
    return state(tensors);
}

}  // namespace sotto::mixing

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/gossip/mixing/gradient_tracking.ipp"
#endif
