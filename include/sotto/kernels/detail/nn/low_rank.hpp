#pragma once

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

/// A matrix of `rows` times `columns`, stored by rows, and its two factors. The left factor is
/// `rank` contiguous vectors of `rows` floats, the right one `rank` vectors of `columns` floats.
struct low_rank_shape {
    std::size_t rows, columns, rank;  // extents

    /// Floats of the matrix.
    constexpr std::size_t size() const noexcept { return rows * columns; }
    /// Floats of the left factor.
    constexpr std::size_t left_size() const noexcept { return rows * rank; }
    /// Floats of the right factor.
    constexpr std::size_t right_size() const noexcept { return columns * rank; }
};

inline namespace SOTTO_UNIT {

// Below, no two spans share memory; a size that does not match the shape is an invalid_option. Each
// function gives the same bits on every instruction set. It costs 2 * rows * columns * rank
// operations. It reads or writes the matrix once if a row and the right factor stay in a cache.

/// Computes left = matrix * right.
void left_factor_of(const low_rank_shape& shape, std::span<const float> matrix,
                    std::span<const float> right, std::span<float> left);

/// Computes right = transposed matrix * left.
void right_factor_of(const low_rank_shape& shape, std::span<const float> matrix,
                     std::span<const float> left, std::span<float> right);

/// Computes matrix = left * transposed right.
void product_of_factors(const low_rank_shape& shape, std::span<const float> left,
                        std::span<const float> right, std::span<float> matrix);

/// Computes matrix += scale * (left * transposed right); the product is rounded before the sum.
void add_product_of_factors(const low_rank_shape& shape, float scale, std::span<const float> left,
                            std::span<const float> right, std::span<float> matrix);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/nn/low_rank.ipp"
#endif
