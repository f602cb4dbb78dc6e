#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "sotto/core/layout.hpp"
#include "sotto/kernels/detail/nn/lstm_gates.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/blas.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/detail/rows.hpp"

namespace sotto::detail::nn {

/// One layer of an lstm. Rows are grouped by position: all rows of position 0, one per sequence,
/// then all of position 1. The rows of one position then form a matrix, and so do all rows
/// together. The gradient of a weight over all positions is thus one product.
class lstm_layer {
public:
    lstm_layer(std::int64_t inputs, std::int64_t hidden, nn::start start,
               sotto::nn::blueprint& plan);

    std::int64_t inputs() const noexcept { return inputs_; }
    std::int64_t hidden() const noexcept { return hidden_; }

    /// Returns the last output of forward, for the same number of rows.
    std::span<const float> out(std::int64_t rows) const noexcept;

    /// Maps rows x inputs to rows x hidden, with `batch` rows for each position.
    std::span<const float> forward(std::span<const float> parameters, std::span<const float> in,
                                   std::int64_t batch);

    /// Also accumulates the gradient of each position's state in `out_gradient`. Writes
    /// rows x inputs to `in_gradient` unless that is empty.
    void backward(std::span<const float> parameters, std::span<const float> in,
                  std::span<float> out_gradient, std::int64_t batch,
                  std::span<float> gates_gradient, std::span<float> in_gradient,
                  std::span<float> gradient, auto&& on_ready) {
        const std::int64_t rows = static_cast<std::int64_t>(in.size()) / inputs_;
        const std::int64_t cells = batch * hidden_, gates = 4 * hidden_;
        const std::span<float> bias = bias_.of(gradient);
        const std::span<float> cell_gradient = cell_gradient_.take(cells);
        std::fill(bias.begin(), bias.end(), 0.0f);
        std::fill(cell_gradient.begin(), cell_gradient.end(), 0.0f);
        for (std::int64_t first = rows - batch; first >= 0 && batch > 0; first -= batch) {
            const std::int64_t at = first * hidden_;
            const std::span<float> here = part(gates_gradient, 4 * at, 4 * cells);
            kernels::lstm_backward({.hidden = hidden_,
                                    .gates = part(gates_.first(rows * gates), 4 * at, 4 * cells),
                                    .cell_before = before(cell_.first(rows * hidden_), at, cells),
                                    .squashed = part(squashed_.first(rows * hidden_), at, cells),
                                    .out_gradient = part(out_gradient, at, cells),
                                    .cell_gradient = cell_gradient,
                                    .gates_gradient = here});
            for (std::int64_t i = 0; i < batch; ++i)
                add_row(here.data() + i * gates, bias.data(), gates);
            if (first > 0)
                multiply({here, batch, gates}, state_weight(parameters),
                         {part(out_gradient, at - cells, cells), batch, hidden_}, 1.0f);
        }
        on_ready(std::as_const(bias_));

        // Each position except the first has the previous position's output as its state.
        const std::int64_t later = rows - batch;
        const matrix<const float> after{part(gates_gradient, 4 * cells, gates * later), later,
                                        gates};
        multiply(after.transpose(), {out_.first(later * hidden_), later, hidden_},
                 {state_weight_.of(gradient), gates, hidden_});
        on_ready(std::as_const(state_weight_));

        const matrix<const float> all{gates_gradient.first(static_cast<std::size_t>(rows * gates)),
                                      rows, gates};
        multiply(all.transpose(), {in, rows, inputs_},
                 {input_weight_.of(gradient), gates, inputs_});
        on_ready(std::as_const(input_weight_));

        if (!in_gradient.empty())
            multiply(all, input_weight(parameters), {in_gradient, rows, inputs_});
    }

private:
    template <class T>
    static std::span<T> part(std::span<T> all, std::int64_t first, std::int64_t count) {
        return all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    }
    static std::span<const float> before(std::span<const float> cell, std::int64_t at,
                                         std::int64_t cells);
    matrix<const float> input_weight(std::span<const float> parameters) const;
    matrix<const float> state_weight(std::span<const float> parameters) const;

    std::int64_t inputs_;
    std::int64_t hidden_;
    tensor input_weight_;
    tensor state_weight_;
    tensor bias_;
    buffer<> gates_;     // after their activation functions
    buffer<> cell_;      // c
    buffer<> squashed_;  // tanh c
    buffer<> out_;       // h
    buffer<> cell_gradient_;
};

}  // namespace sotto::detail::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/detail/lstm_layer.ipp"
#endif
