#include "sotto/kernels/detail/nn/lstm_gates.hpp"
#include "sotto/kernels/instruction_set.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/generators.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::instruction_set;
using floats = std::vector<float>;

namespace {

// Everything a step reads and writes, with a guard behind each span.
struct step_memory {
    std::int64_t hidden, rows;
    std::size_t cells = static_cast<std::size_t>(rows * hidden);
    floats bias, gates, cell_before, cell, squashed, out;
    floats out_gradient, cell_gradient, gates_gradient;

    step_memory(std::int64_t hidden_size, std::int64_t row_count)
        : hidden(hidden_size), rows(row_count) {
        auto make = [seed = std::uint64_t{1}](std::int64_t n) mutable {
            floats values = sotto::testing::normal_values(n, seed++);
            values.push_back(guard);
            return values;
        };
        bias = make(4 * hidden);
        gates = make(4 * rows * hidden);
        gates_gradient = make(4 * rows * hidden);
        for (floats* each : {&cell_before, &cell, &squashed, &out, &out_gradient, &cell_gradient})
            *each = make(rows * hidden);
    }

    std::span<float> all_but_guard(floats& values) const {
        return std::span(values).first(values.size() - 1);
    }
    sotto::detail::kernels::lstm_step forward(bool first = false) {
        return {.hidden = hidden,
                .bias = all_but_guard(bias),
                .gates = all_but_guard(gates),
                .cell_before = first ? std::span<float>{} : all_but_guard(cell_before),
                .cell = all_but_guard(cell),
                .squashed = all_but_guard(squashed),
                .out = all_but_guard(out)};
    }
    sotto::detail::kernels::lstm_step_back backward(bool first = false) {
        return {.hidden = hidden,
                .gates = all_but_guard(gates),
                .cell_before = first ? std::span<float>{} : all_but_guard(cell_before),
                .squashed = all_but_guard(squashed),
                .out_gradient = all_but_guard(out_gradient),
                .cell_gradient = all_but_guard(cell_gradient),
                .gates_gradient = all_but_guard(gates_gradient)};
    }

    bool guards_stand() const {
        bool stand = true;
        for (const floats* each : {&bias, &gates, &cell_before, &cell, &squashed, &out,
                                   &out_gradient, &cell_gradient, &gates_gradient})
            stand &= each->back() == guard;
        return stand;
    }

    friend bool operator==(const step_memory&, const step_memory&) = default;

    static constexpr float guard = 123.0f;
};

double sigmoid(double x) {
    return 1.0 / (1.0 + std::exp(-x));
}

}  // namespace

TEST_CASE("a step of an LSTM is what its formula says, at every width") {
    for (const bool first : {false, true})
        for (std::int64_t hidden = 1; hidden <= 35; ++hidden) {
            step_memory memory(hidden, 3);
            const step_memory before = memory;
            sotto::detail::kernels::lstm_forward(memory.forward(first));
            CHECK(memory.guards_stand());
            const auto h = static_cast<std::size_t>(hidden);
            for (std::size_t row = 0; row < 3; ++row)
                for (std::size_t j = 0; j < h; ++j) {
                    const auto gate = [&](std::size_t which) {
                        return double{before.gates[(4 * row + which) * h + j]} +
                               before.bias[which * h + j];
                    };
                    const auto is_gate = [&](std::size_t which, double expected) {
                        CHECK(memory.gates[(4 * row + which) * h + j] ==
                              doctest::Approx(expected).epsilon(1e-5));
                    };
                    const double i = sigmoid(gate(0)), f = sigmoid(gate(1)), g = std::tanh(gate(2)),
                                 o = sigmoid(gate(3));
                    is_gate(0, i);
                    is_gate(1, f);
                    is_gate(2, g);
                    is_gate(3, o);
                    const std::size_t at = row * h + j;
                    const double c = (first ? 0.0 : f * before.cell_before[at]) + i * g;
                    CHECK(memory.cell[at] == doctest::Approx(c).epsilon(1e-5));
                    CHECK(memory.squashed[at] == doctest::Approx(std::tanh(c)).epsilon(1e-5));
                    CHECK(memory.out[at] == doctest::Approx(o * std::tanh(c)).epsilon(1e-5));
                }
        }
}

TEST_CASE("a step back gives the slopes of the step") {
    constexpr std::int64_t hidden = 19, rows = 2;
    for (const bool first : {false, true}) {
        step_memory memory(hidden, rows);
        const step_memory start = memory;
        // What the step's results weigh in the loss: h by out_gradient, c by cell_gradient.
        const auto loss = [&](const step_memory& from) {
            step_memory moved = from;
            sotto::detail::kernels::lstm_forward(moved.forward(first));
            double sum = 0.0;
            for (std::size_t i = 0; i < moved.cells; ++i)
                sum += double{start.out_gradient[i]} * moved.out[i] +
                       double{start.cell_gradient[i]} * moved.cell[i];
            return sum;
        };
        const auto slope = [&](floats step_memory::*which, std::size_t at) {
            step_memory up = start, down = start;
            (up.*which)[at] += 0.015625f;
            (down.*which)[at] -= 0.015625f;
            return (loss(up) - loss(down)) / 0.03125;
        };
        sotto::detail::kernels::lstm_forward(memory.forward(first));
        sotto::detail::kernels::lstm_backward(memory.backward(first));
        CHECK(memory.guards_stand());
        for (std::size_t i = 0; i < 4 * memory.cells; ++i)
            CHECK(std::abs(memory.gates_gradient[i] - slope(&step_memory::gates, i)) < 1e-3);
        for (std::size_t i = 0; i < memory.cells && !first; ++i)
            CHECK(std::abs(memory.cell_gradient[i] - slope(&step_memory::cell_before, i)) < 1e-3);
    }
}

TEST_CASE("steps of an LSTM give the same bits on every instruction set") {
    for (const std::int64_t hidden : {1, 16, 37}) {
        step_memory expected(hidden, 5);
        const step_memory start = expected;
        const auto run = [](step_memory& memory, instruction_set set) {
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::lstm_forward_kernel>(
                set, memory.forward());
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::lstm_backward_kernel>(
                set, memory.backward());
        };
        run(expected, instruction_set::baseline);
        for (const auto set : {instruction_set::avx2, instruction_set::avx512}) {
            if (set > kernels::best_instruction_set()) continue;
            step_memory found = start;
            run(found, set);
            CHECK(found == expected);
        }
    }
}
