#pragma once

#include "sotto/nn/lstm.hpp"

#include "sotto/core/config.hpp"

namespace sotto::nn {

SOTTO_DECL std::span<const float> lstm::state::activations(
    std::span<const float> in) const noexcept {
    return out_.first(batch_of(in) * positions_ * hidden());
}

SOTTO_DECL std::span<const float> lstm::state::forward(const pass& at, std::span<const float> in) {
    const std::int64_t batch = batch_of(in);
    const std::span<float> first = in_.take(static_cast<std::int64_t>(in.size()));
    detail::nn::swap_axes(in.data(), first.data(), batch, positions_, inputs());
    std::span<const float> values = first;
    for (detail::nn::lstm_layer& each : layers_)
        values = each.forward(at.parameters, values, batch);
    const std::span<float> out = out_.take(static_cast<std::int64_t>(values.size()));
    detail::nn::swap_axes(values.data(), out.data(), positions_, batch, hidden());
    return out;
}

SOTTO_DECL std::int64_t lstm::state::batch_of(std::span<const float> in) const noexcept {
    return static_cast<std::int64_t>(in.size()) / (positions_ * inputs());
}

}  // namespace sotto::nn
