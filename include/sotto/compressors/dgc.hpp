#pragma once

#include "sotto/compressors/momentum_corrected.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"

namespace sotto {

/// Deep Gradient Compression by its options: exact top-k of momentum-corrected, factor-masked
/// velocities, warm-up of the density, biases dense; with `clip_norm` local clipping, per tensor as
/// in the authors' code unless `clip` says per model as in the paper. `clip_dense` says whether
/// biases are clipped on each worker, or after the sum as in the authors' code. The optimizer must
/// be plain SGD: momentum is in here. Anything else is a composition, such as
/// `sparsified{sampled_top_k{}, momentum_corrected{.mask = false}, exponential_warm_up{}}`.
///   source  Lin et al. 2018, Deep Gradient Compression, arXiv:1712.01887
struct dgc {
    double density = 0.001;  // share of entries that are sent, in (0, 1]
    double momentum = 0.9;   // m, in [0, 1)
    bool nesterov = false;   // whether velocities look ahead
    bool mask = true;        // whether velocities of what was sent become 0
    double mask_from_sparsity =
        0.0;  // masking at low sparsity takes momentum away: see momentum_corrected
    double warm_up_epochs = 4.0;                               // passes over the data; 0: none
    double clip_norm = 0.0;                                    // 0: no clipping
    local_clipping::scopes clip = local_clipping::per_tensor;  // whose norm is clipped
    /// In messages; what rounding takes away stays in memory.
    wire::value_format values = wire::value_format::fp32;
    bool dense_vectors = true;  // biases and normalisation whole
    local_clipping::dense_times clip_dense = local_clipping::before_sum;  // when these are clipped

    static constexpr bool holds_momentum = true;
    /// What these options stand for.
    using composition = sparsified<top_k, momentum_corrected, warm_up>;

    /// The same, to be changed further.
    composition as_sparsified() const;

    composition::state bind(const layout& tensors) const { return as_sparsified().bind(tensors); }
    composition::state bind_decoder(const layout& tensors) const;
    void describe(auto&& field) const { as_sparsified().describe(field); }
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/dgc.ipp"
#endif
