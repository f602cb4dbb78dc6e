#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/top_k/magnitude.hpp"
#include "sotto/kernels/detail/top_k/threshold_sampler.hpp"
#include "sotto/kernels/detail/top_k/top_k_search.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

struct insides;

/// The threshold of the last call, reused by the next if values change little between calls.
class carried_threshold {
private:
    friend detail::kernels::insides;

    /// Null before the first call.
    const probable_thresholds* guess() const noexcept { return known_ ? &thresholds_ : nullptr; }

    /// Updates the guess after a selection of k.
    void learn(const top_k_search& from, std::size_t k) noexcept {
        if (from.repeated())
            below_ = (std::min)(2.0f * below_, widest);
        else if (from.collected() > k + k / 8)
            below_ = (std::max)(0.8f * below_, narrowest);
        above_ = from.released() ? (std::min)(2.0f * above_, widest)
                                 : (std::max)(0.8f * above_, narrowest);
        known_ = from.threshold() > 0 && from.threshold() < infinity_bits;
        const float last = std::bit_cast<float>(from.threshold());
        thresholds_.least = magnitude_of(last * (1.0f - below_));
        thresholds_.claim_from = magnitude_of(last * (1.0f + above_));
    }

    static constexpr float narrowest = 0.004f, widest = 0.5f;

    // The range, relative to the last threshold, in which the next is expected.
    float below_ = 0.03f, above_ = 0.03f;
    probable_thresholds thresholds_;
    bool known_ = false;
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
