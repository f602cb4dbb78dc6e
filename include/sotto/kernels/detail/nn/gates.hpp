#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/nn/squash.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// One step of an LSTM, for a batch of rows. Each row of `gates` holds four runs of `hidden`
/// values: input, forget, candidate and output gate. The other spans are rows x hidden.
struct lstm_step {
    std::int64_t hidden = 0;             // values of a row
    std::span<const float> bias;         // 4 hidden; all rows'
    std::span<float> gates;              // in: W x + U h;  out: the gates i, f, g, o
    std::span<const float> cell_before;  // empty at the first step: zeros
    std::span<float> cell;               // c
    std::span<float> squashed;           // tanh c
    std::span<float> out;                // h
};

/// The same step on the way back.
struct lstm_step_back {
    std::int64_t hidden = 0;              // values of a row
    std::span<const float> gates;         // as the step left them
    std::span<const float> cell_before;   // empty at the first step: zeros
    std::span<const float> squashed;      // tanh c
    std::span<const float> out_gradient;  // dh
    std::span<float> cell_gradient;       // in: dc from the step after;  out: for the step before
    std::span<float> gates_gradient;      // of what `gates` held before the step
};

struct lstm_forward_kernel {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const lstm_step& step) noexcept {
        SOTTO_UNFUSED_BODY
        constexpr int lanes = lanes_of(Set);
        const auto hidden = static_cast<std::size_t>(step.hidden);
        const float* bias = step.bias.data();
        for (std::size_t first = 0; first < step.cell.size(); first += hidden) {
            float* const gates = step.gates.data() + 4 * first;
            for (std::size_t j = 0; j < hidden; j += lanes) {
                const std::size_t here = first + j, left = hidden - j;
                floats<lanes> i, f, g, o, cell{}, squashed;
                sum<lanes>(i, gates + j, bias + j, left);
                sum<lanes>(f, gates + hidden + j, bias + hidden + j, left);
                sum<lanes>(g, gates + 2 * hidden + j, bias + 2 * hidden + j, left);
                sum<lanes>(o, gates + 3 * hidden + j, bias + 3 * hidden + j, left);
                sigmoid_lanes<lanes>(i, i);
                sigmoid_lanes<lanes>(f, f);
                tanh_lanes<lanes>(g, g);
                sigmoid_lanes<lanes>(o, o);
                if (!step.cell_before.empty())
                    load_some<lanes>(cell, step.cell_before.data() + here, left);
                cell = f * cell + i * g;
                tanh_lanes<lanes>(cell, squashed);
                store_some<lanes>(i, gates + j, left);
                store_some<lanes>(f, gates + hidden + j, left);
                store_some<lanes>(g, gates + 2 * hidden + j, left);
                store_some<lanes>(o, gates + 3 * hidden + j, left);
                store_some<lanes>(cell, step.cell.data() + here, left);
                store_some<lanes>(squashed, step.squashed.data() + here, left);
                store_some<lanes>(o * squashed, step.out.data() + here, left);
            }
        }
    }

private:
    template <int Lanes>
    SOTTO_INLINE static void sum(floats<Lanes>& to, const float* a, const float* b,
                                 std::size_t count) noexcept {
        floats<Lanes> second;
        load_some<Lanes>(to, a, count);
        load_some<Lanes>(second, b, count);
        to += second;
    }
};

struct lstm_backward_kernel {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const lstm_step_back& step) noexcept {
        SOTTO_UNFUSED_BODY
        constexpr int lanes = lanes_of(Set);
        const auto hidden = static_cast<std::size_t>(step.hidden);
        for (std::size_t first = 0; first < step.squashed.size(); first += hidden) {
            const float* const gates = step.gates.data() + 4 * first;
            float* const to = step.gates_gradient.data() + 4 * first;
            for (std::size_t j = 0; j < hidden; j += lanes) {
                const std::size_t here = first + j, left = hidden - j;
                floats<lanes> i, f, g, o, before{}, squashed, dh, dc;
                load_some<lanes>(i, gates + j, left);
                load_some<lanes>(f, gates + hidden + j, left);
                load_some<lanes>(g, gates + 2 * hidden + j, left);
                load_some<lanes>(o, gates + 3 * hidden + j, left);
                if (!step.cell_before.empty())
                    load_some<lanes>(before, step.cell_before.data() + here, left);
                load_some<lanes>(squashed, step.squashed.data() + here, left);
                load_some<lanes>(dh, step.out_gradient.data() + here, left);
                load_some<lanes>(dc, step.cell_gradient.data() + here, left);
                dc += dh * o * (1.0f - squashed * squashed);
                store_some<lanes>(dc * g * (i * (1.0f - i)), to + j, left);
                store_some<lanes>(dc * before * (f * (1.0f - f)), to + hidden + j, left);
                store_some<lanes>(dc * i * (1.0f - g * g), to + 2 * hidden + j, left);
                store_some<lanes>(dh * squashed * (o * (1.0f - o)), to + 3 * hidden + j, left);
                store_some<lanes>(dc * f, step.cell_gradient.data() + here, left);
            }
        }
    }
};

/// Forward.
///   math    i, f, o = sigmoid, g = tanh of (gates + bias);   c = f c_before + i g;   h = o tanh c
///   cost    five exponentials a cell in one pass over the memory; the same bits on every
///           instruction set
///   source  Hochreiter and Schmidhuber 1997, Long short-term memory;  Gers, Schmidhuber and
///           Cummins 2000, Learning to forget
inline void lstm_forward(const lstm_step& step) noexcept {
    run_unfused<lstm_forward_kernel>(sotto::kernels::best_instruction_set(), step);
}

/// Backward.
///   math    dc += dh o (1 - tanh^2 c);   di = dc g i (1 - i),   df = dc c_before f (1 - f),
///           dg = dc i (1 - g^2),   do = dh tanh(c) o (1 - o);   dc_before = dc f
inline void lstm_backward(const lstm_step_back& step) noexcept {
    run_unfused<lstm_backward_kernel>(sotto::kernels::best_instruction_set(), step);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
