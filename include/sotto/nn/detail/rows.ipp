#pragma once

#include "sotto/nn/detail/rows.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::nn {

SOTTO_DECL row_part load_part(const float* from) noexcept {
    row_part part;
    std::memcpy(part.data(), from, sizeof part);
    return part;
}

SOTTO_DECL void copy_row(const float* from, float* to, std::int64_t count) noexcept {
    std::int64_t i = 0;
    for (; i + row_step <= count; i += row_step) std::memcpy(to + i, from + i, sizeof(row_part));
    for (; i < count; ++i) to[i] = from[i];
}

SOTTO_DECL void add_row(const float* from, float* to, std::int64_t count) noexcept {
    map_row(from, to, to, count, [](float a, float b) { return a + b; });
}

SOTTO_DECL void swap_axes(const float* from, float* to, std::int64_t a, std::int64_t b,
                          std::int64_t count) noexcept {
    for (std::int64_t i = 0; i < b; ++i)
        for (std::int64_t j = 0; j < a; ++j)
            copy_row(from + (j * b + i) * count, to + (i * a + j) * count, count);
}

SOTTO_DECL void copy_block(block_of<const float> from, block_of<float> to, std::int64_t rows,
                           std::int64_t columns) noexcept {
    each_part(
        from, to, rows, columns,
        [](const float* x, float* y) { std::memcpy(y, x, sizeof(row_part)); },
        [](float x, float& y) { y = x; });
}

SOTTO_DECL void add_block(block_of<const float> from, block_of<float> to, std::int64_t rows,
                          std::int64_t columns) noexcept {
    each_part(
        from, to, rows, columns, [](const float* x, float* y) { add_row(x, y, row_step); },
        [](float x, float& y) { y += x; });
}

SOTTO_DECL float sum_row(const float* from, std::int64_t count) noexcept {
    row_part sums{};  // eight sums: a single one waits 4 cycles for each addition
    std::int64_t i = 0;
    for (; i + row_step <= count; i += row_step) {
        const row_part part = load_part(from + i);
        for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += part[j];
    }
    float total = 0.0f;
    for (const float sum : sums) total += sum;
    for (; i < count; ++i) total += from[i];
    return total;
}

}  // namespace sotto::detail::nn
