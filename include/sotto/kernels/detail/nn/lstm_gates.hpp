#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Arguments of one LSTM step for a batch of rows. Each row of `gates` holds four runs of `hidden`
/// values: input, forget, candidate and output gate. The other spans are rows x hidden.
struct lstm_step {
    std::int64_t hidden = 0;             // values per row
    std::span<const float> bias;         // 4 hidden; shared by all rows
    std::span<float> gates;              // in: W x + U h;  out: the gates i, f, g, o
    std::span<const float> cell_before;  // empty at the first step: zeros
    std::span<float> cell;               // c
    std::span<float> squashed;           // tanh c
    std::span<float> out;                // h
};

/// Arguments of the backward pass of a step.
struct lstm_step_back {
    std::int64_t hidden = 0;              // values per row
    std::span<const float> gates;         // as the step wrote them
    std::span<const float> cell_before;   // empty at the first step: zeros
    std::span<const float> squashed;      // tanh c
    std::span<const float> out_gradient;  // dh
    std::span<float> cell_gradient;       // in: dc of the next step;  out: dc of the previous step
    std::span<float> gates_gradient;      // of the input of `gates`
};

/// Runs a step forward.
///   math    i, f, o = sigmoid, g = tanh of (gates + bias);   c = f c_before + i g;   h = o tanh c
///   cost    five exponentials per cell in one pass over memory; the same bits on every instruction
///           set
///   source  Hochreiter and Schmidhuber 1997, Long short-term memory;  Gers, Schmidhuber and
///           Cummins 2000, Learning to forget
void lstm_forward(const lstm_step& step) noexcept;

/// Runs a step backward.
///   math    dc += dh o (1 - tanh^2 c);   di = dc g i (1 - i),   df = dc c_before f (1 - f),
///           dg = dc i (1 - g^2),   do = dh tanh(c) o (1 - o);   dc_before = dc f
void lstm_backward(const lstm_step_back& step) noexcept;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/nn/lstm_gates.ipp"
#endif
