#pragma once

#include "sotto/compressors/threshold.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL threshold::selector_state::selector_state(const threshold& options, const layout&)
    : limit_(static_cast<float>(options.limit)) {
    require_option("threshold", "limit", options.limit, detail::allowed::above(0.0));
}

SOTTO_DECL std::span<const std::uint32_t> threshold::selector_state::select(
    const tensor&, std::span<const float> values, std::int64_t) {
    return kernels::select_above(values, limit_, scratch_).indices;
}

}  // namespace sotto
