#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sotto::detail::nn {

// Rows of small images have 8 to 30 floats, for which a call of memmove costs more than the copy.
// Eight floats through a local array are vector moves without a call or an overlap check.
inline constexpr std::int64_t row_step = 8;
using row_part = std::array<float, row_step>;

row_part load_part(const float* from) noexcept;

void copy_row(const float* from, float* to, std::int64_t count) noexcept;

/// Computes to = function(a, b) element by element; `to` may be `a` or `b`.
inline void map_row(const float* a, const float* b, float* to, std::int64_t count,
                    auto function) noexcept {
    std::int64_t i = 0;
    for (; i + row_step <= count; i += row_step) {
        row_part first = load_part(a + i);
        const row_part second = load_part(b + i);
        for (std::size_t j = 0; j < first.size(); ++j) first[j] = function(first[j], second[j]);
        std::memcpy(to + i, first.data(), sizeof first);
    }
    for (; i < count; ++i) to[i] = function(a[i], b[i]);
}

/// Computes to += from.
void add_row(const float* from, float* to, std::int64_t count) noexcept;

/// Transposes a x b rows of `count` floats to b x a rows.
void swap_axes(const float* from, float* to, std::int64_t a, std::int64_t b,
               std::int64_t count) noexcept;

/// A block of a larger matrix: its first element and the distances to the next row and column.
template <class T>
struct block_of {
    T* first;
    std::int64_t next_row;
    std::int64_t next_column;
};

// Processes both blocks in parts of eight columns, top to bottom. Rows are short: a loop end for
// each costs more than its copy (4.4 us instead of 1.7 us for 1,600 rows of 8).
inline void each_part(auto from, auto to, std::int64_t rows, std::int64_t columns, auto&& part,
                      auto&& one) noexcept {
    std::int64_t x = 0;
    if (from.next_column == 1 && to.next_column == 1)
        for (; x + row_step <= columns; x += row_step)
            for (std::int64_t y = 0; y < rows; ++y)
                part(from.first + y * from.next_row + x, to.first + y * to.next_row + x);
    for (; x < columns; ++x)
        for (std::int64_t y = 0; y < rows; ++y)
            one(from.first[y * from.next_row + x * from.next_column],
                to.first[y * to.next_row + x * to.next_column]);
}

/// Computes to = from.
void copy_block(block_of<const float> from, block_of<float> to, std::int64_t rows,
                std::int64_t columns) noexcept;

/// Computes to += from.
void add_block(block_of<const float> from, block_of<float> to, std::int64_t rows,
               std::int64_t columns) noexcept;

/// Returns the sum, in an order that depends only on `count`.
float sum_row(const float* from, std::int64_t count) noexcept;

}  // namespace sotto::detail::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/detail/rows.ipp"
#endif
