#pragma once

#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Several images: planes and rows of each begin so many floats behind those of the one before.
struct image_series {
    std::int64_t count = 1;
    std::int64_t next_planes = 0;
    std::int64_t next_rows = 0;
};

/// A matrix of which every row is the same pick of places from a plane of floats, read from another
/// shift: the patches that a convolution's filters see, without being written out.
///   shape   row k, column 8 g + i: planes[shifts[k] + places[g] + i], for i in 0..7
struct shifted_planes {
    const float* planes = nullptr;         // all floats
    const std::int32_t* shifts = nullptr;  // one for each row
    std::int64_t depth = 0;                // rows
    const std::int32_t* places = nullptr;  // one for every eight columns
    std::int64_t octets = 0;               // columns, by eights
    bool pairs_touch = false;              // places[g + 1] is places[g] + 8 for every even g
};

/// The rows of the product, which is the filters, that go together: weights are packed for as many.
inline constexpr std::int64_t packed_rows = 8;

/// Floats that the packed weights of `rows` rows take.
constexpr std::int64_t packed_size(std::int64_t rows, std::int64_t depth) noexcept {
    return (rows + packed_rows - 1) / packed_rows * packed_rows * depth;
}

/// The product of weights with shifted planes.
///   math    out[r, c] = start[r] + sum over k of W[r, k] x[k, c]
///   shape   weights: by blocks of packed_rows rows, in a block [k][row], missing rows as zeros;
///           start: rows, rounded up to packed_rows;   out: rows x (8 octets)
///   cost    2 rows depth 8 octets operations; nothing is written but `out`
void multiply_shifted(const shifted_planes& x, const float* weights, const float* start, float* out,
                      std::int64_t rows) noexcept;

/// The product of rows with the transpose of shifted planes, summed over images.
///   math    out[r, k] += sum over images and c of rows[r, c] x[k, c]
///   shape   rows: row_count x (8 octets) for each image;   out: row_count x depth
///   cost    as multiply_shifted, for each image;  the planes of all images and as many rows at a
///           time should fit into the second-level cache
void correlate_shifted(const shifted_planes& x, const image_series& images, const float* rows,
                       std::int64_t row_count, float* out) noexcept;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/nn/shifted_planes.ipp"
#endif
