#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sotto/core/config.hpp"

namespace sotto {

/// Clips a worker's gradient before it enters memory, to its part of the limit: independent
/// gradients add up by their squares.
///   math    g *= min(1, limit / ||g||),  limit = norm * sqrt(w), where g is already multiplied by
///           w, the worker's share of the round's examples: 1 / N for N workers alike, as in the
///           paper. After the sum of N workers (in a hierarchy: hosts) the limit is
///           norm * sqrt(N), of a tensor's mean gradient.
///           The authors' code compares gradients that are not yet divided by N: their max_norm is
///           norm * sqrt(N). It clips tensors that it sends sparse on each worker, and the others
///           after they were averaged, both at max_norm: that is `after_sum`
///   source  Lin et al. 2018, arXiv:1712.01887, section 3.2, and the code published with it
struct local_clipping {
    /// Whose norm is compared with the limit.
    enum scopes : std::uint8_t {
        per_tensor,  // each tensor's own, as in the authors' code: a tensor leaves when it is ready
        per_model,   // the whole gradient's, as in the paper: nothing leaves before the last tensor
    };

    /// When tensors that are summed dense are clipped: biases and normalisation.
    enum dense_times : std::uint8_t {
        before_sum,  // each worker's part, as of all other tensors
        after_sum,   // the mean over all workers, as in the authors' code
    };

    double norm = 0.0;  // the limit for the whole gradient of all workers; 0 turns clipping off
    scopes scope = per_tensor;       // whose norm that is
    dense_times dense = before_sum;  // when dense tensors are clipped

    void describe(auto&& field) const {
        field("norm", norm);
        field("scope", scope);
        // Only where it is chosen: checkpoints of runs without the option stay readable.
        if (dense != before_sum) field("dense", dense);
    }

    /// Throws invalid_option: norm below 0 or not a number; after_sum with the norm of the model.
    void check() const;

    /// Whether dense tensors are clipped after they were summed.
    bool clips_sums() const noexcept { return norm > 0.0 && dense == after_sum; }

    /// The factor for a gradient that counts by `weight`, at most 1.
    float factor(std::span<const float> gradient, double weight) const noexcept;

    /// The factor for the mean gradient of a tensor, which was summed over so many workers.
    float factor_of_sum(std::span<const float> sum, int workers) const noexcept;

    /// The same for one whose sum of squares is known.
    float factor_of(double sum_of_squares, double weight) const noexcept;
};

/// As it is written in options: "per_tensor" or "per_model".
constexpr std::string_view name_of(local_clipping::scopes scope) noexcept {
    return scope == local_clipping::per_tensor ? "per_tensor" : "per_model";
}

/// As it is written in options: "before_sum" or "after_sum".
constexpr std::string_view name_of(local_clipping::dense_times when) noexcept {
    return when == local_clipping::before_sum ? "before_sum" : "after_sum";
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/local_clipping.ipp"
#endif
