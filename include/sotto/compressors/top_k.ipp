#pragma once

#include "sotto/compressors/top_k.hpp"

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL std::span<const std::uint32_t> top_k::selector_state::select(
    const tensor&, std::span<const float> values, std::int64_t k) {
    return kernels::select_top_k(values, k, scratch_, kernels::nan_policy::largest).indices;
}

}  // namespace sotto
