#pragma once

#include "sotto/compressors/dgc.hpp"

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL dgc::composition dgc::as_sparsified() const {
    return {top_k{density},
            momentum_corrected{momentum, nesterov, mask, mask_from_sparsity},
            warm_up{warm_up_epochs},
            local_clipping{clip_norm, clip, clip_dense},
            {values, dense_vectors}};
}

SOTTO_DECL dgc::composition::state dgc::bind_decoder(const layout& tensors) const {
    return as_sparsified().bind_decoder(tensors);
}

}  // namespace sotto
