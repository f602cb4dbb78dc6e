#pragma once

#include "sotto/compressors/terngrad.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/quantise/ternary.hpp"

namespace sotto {

SOTTO_DECL double terngrad::variance(const tensor& t) const noexcept {
    if (dense_vectors && t.is_vector()) return 0.0;
    return std::sqrt(static_cast<double>(std::clamp<std::int64_t>(t.size, 1, bucket))) - 1.0;
}

SOTTO_DECL void terngrad::check() const {
    if (clips() || clip < 0.0)
        require_option("terngrad", "clip", clip, detail::allowed::above(0.0),
                       ", or infinity for no clipping");
}

SOTTO_DECL void terngrad::quantise(std::uint64_t message_seed, std::span<const float> values,
                                   std::span<float> scales, std::span<std::uint8_t> codes) const {
    detail::kernels::ternarise(
        {.block = static_cast<std::size_t>(bucket), .clip = limit(), .seed = message_seed}, values,
        scales, codes);
}

SOTTO_DECL bool terngrad::clips() const noexcept {
    return detail::is_nan(clip) ||
           (detail::is_finite(clip) && clip <= (std::numeric_limits<float>::max)());
}

SOTTO_DECL float terngrad::limit() const noexcept {
    return clips() ? static_cast<float>(clip) : std::numeric_limits<float>::infinity();
}

}  // namespace sotto
