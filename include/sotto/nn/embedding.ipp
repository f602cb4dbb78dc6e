#pragma once

#include "sotto/nn/embedding.hpp"

#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"

namespace sotto::nn {

SOTTO_DECL std::span<const float> embedding::state::activations(
    std::span<const float> in) const noexcept {
    return out_.first(static_cast<std::int64_t>(in.size()) * width_);
}

SOTTO_DECL std::span<const float> embedding::state::forward(const pass& at,
                                                            std::span<const float> in) {
    const auto count = static_cast<std::int64_t>(in.size());
    const std::span<std::int32_t> tokens = tokens_.take(count);
    for (std::size_t i = 0; i < in.size(); ++i) tokens[i] = checked_token(in, i);
    const std::span<float> out = out_.take(count * width_);
    const float* const rows = weight_.of(at.parameters).data();
    float* to = out.data();
    for (const std::int32_t token : tokens) {
        detail::nn::copy_row(rows + token * width_, to, width_);
        to += width_;
    }
    return out;
}

SOTTO_DECL std::int32_t embedding::state::checked_token(std::span<const float> in,
                                                        std::size_t i) const {
    const float found = in[i];
    if (detail::is_finite(found) && found >= 0.0f && found < static_cast<float>(vocabulary_) &&
        found == std::trunc(found))
        return static_cast<std::int32_t>(found);
    const auto positions = static_cast<std::size_t>(positions_);
    throw invalid_option(name_ + ": example " + std::to_string(i / positions) + " has token " +
                         std::to_string(found) + " at position " + std::to_string(i % positions) +
                         "; expected a whole number, 0 to " + std::to_string(vocabulary_) +
                         " exclusive, the vocabulary");
}

}  // namespace sotto::nn
