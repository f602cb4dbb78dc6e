#pragma once

#include "sotto/nn/detail/lstm_layer.hpp"

#include <string>

#include "sotto/core/config.hpp"

namespace sotto::detail::nn {

SOTTO_DECL lstm_layer::lstm_layer(std::int64_t inputs, std::int64_t hidden, nn::start start,
                                  sotto::nn::blueprint& plan)
    : inputs_(inputs), hidden_(hidden) {
    const std::string name = plan.name("lstm");
    const std::int64_t gates = 4 * hidden;
    input_weight_ = plan.add_weight(name + ".input", {gates, inputs}, start, inputs, gates);
    state_weight_ = plan.add_weight(name + ".state", {gates, hidden}, start, hidden, gates);
    bias_ = plan.add_bias(name, gates);
    // Open forget gates let gradients through from the first step on.
    plan.start_at(bias_, hidden, hidden, 1.0);
}

SOTTO_DECL std::span<const float> lstm_layer::out(std::int64_t rows) const noexcept {
    return out_.first(rows * hidden_);
}

SOTTO_DECL std::span<const float> lstm_layer::forward(std::span<const float> parameters,
                                                      std::span<const float> in,
                                                      std::int64_t batch) {
    const std::int64_t rows = static_cast<std::int64_t>(in.size()) / inputs_;
    const std::int64_t cells = batch * hidden_;
    const std::span<float> gates = gates_.take(rows * 4 * hidden_);
    const std::span<float> cell = cell_.take(rows * hidden_);
    const std::span<float> squashed = squashed_.take(rows * hidden_);
    const std::span<float> out = out_.take(rows * hidden_);
    multiply({in, rows, inputs_}, input_weight(parameters).transpose(), {gates, rows, 4 * hidden_});
    for (std::int64_t first = 0; first < rows; first += batch) {
        const std::int64_t at = first * hidden_;
        const std::span<float> here = part(gates, 4 * at, 4 * cells);
        if (first > 0)
            multiply({part(out, at - cells, cells), batch, hidden_},
                     state_weight(parameters).transpose(), {here, batch, 4 * hidden_}, 1.0f);
        kernels::lstm_forward({.hidden = hidden_,
                               .bias = bias_.of(parameters),
                               .gates = here,
                               .cell_before = before(cell, at, cells),
                               .cell = part(cell, at, cells),
                               .squashed = part(squashed, at, cells),
                               .out = part(out, at, cells)});
    }
    return out;
}

SOTTO_DECL std::span<const float> lstm_layer::before(std::span<const float> cell, std::int64_t at,
                                                     std::int64_t cells) {
    return at == 0 ? std::span<const float>{} : part(cell, at - cells, cells);
}

SOTTO_DECL matrix<const float> lstm_layer::input_weight(std::span<const float> parameters) const {
    return {input_weight_.of(parameters), 4 * hidden_, inputs_};
}

SOTTO_DECL matrix<const float> lstm_layer::state_weight(std::span<const float> parameters) const {
    return {state_weight_.of(parameters), 4 * hidden_, hidden_};
}

}  // namespace sotto::detail::nn
