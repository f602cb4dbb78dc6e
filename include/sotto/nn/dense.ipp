#pragma once

#include "sotto/nn/dense.hpp"

#include "sotto/core/config.hpp"

namespace sotto::nn {

SOTTO_DECL std::span<const float> dense::state::activations(
    std::span<const float> in) const noexcept {
    return sum_.activations(in);
}

SOTTO_DECL std::span<const float> dense::state::forward(const pass& at, std::span<const float> in) {
    return sum_.forward(sum_.weight().of(at.parameters), at.parameters, in);
}

}  // namespace sotto::nn
