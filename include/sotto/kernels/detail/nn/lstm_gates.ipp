#pragma once

#include "sotto/kernels/detail/nn/lstm_gates.hpp"

#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/nn/sigmoid_tanh.hpp"
#include "sotto/kernels/detail/nn/squash_lanes.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

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

SOTTO_DECL void lstm_forward(const lstm_step& step) noexcept {
    run_unfused<lstm_forward_kernel>(sotto::kernels::best_instruction_set(), step);
}

SOTTO_DECL void lstm_backward(const lstm_step_back& step) noexcept {
    run_unfused<lstm_backward_kernel>(sotto::kernels::best_instruction_set(), step);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
