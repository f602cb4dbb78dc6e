#pragma once

#include "sotto/compressors/local_clipping.hpp"

#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"

namespace sotto {

SOTTO_DECL void local_clipping::check() const {
    require_option("local_clipping", "norm", norm, detail::allowed::at_least(0.0),
                   ", where 0 is no clipping");
    if (clips_sums() && scope == per_model)
        throw invalid_option(
            "local_clipping: dense is after_sum and scope per_model; the norm of the model is "
            "not known when the first tensor is summed: use local_clipping::per_tensor");
}

SOTTO_DECL float local_clipping::factor(std::span<const float> gradient,
                                        double weight) const noexcept {
    return norm == 0.0 ? 1.0f : factor_of(detail::kernels::sum_of_squares(gradient), weight);
}

SOTTO_DECL float local_clipping::factor_of_sum(std::span<const float> sum,
                                               int workers) const noexcept {
    return clips_sums() ? factor_of(detail::kernels::sum_of_squares(sum), workers) : 1.0f;
}

SOTTO_DECL float local_clipping::factor_of(double sum_of_squares, double weight) const noexcept {
    if (norm == 0.0) return 1.0f;
    const double length = std::sqrt(sum_of_squares);
    const double limit = norm * std::sqrt(weight);
    return length > limit ? static_cast<float>(limit / length) : 1.0f;
}

}  // namespace sotto
