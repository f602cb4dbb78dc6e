#pragma once

#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Several images: the distances, in floats, between their planes and between their rows.
struct image_series {
    std::int64_t count = 1;
    std::int64_t next_planes = 0;
    std::int64_t next_rows = 0;
};

/// A matrix whose rows all pick the same places of a plane of floats, each row at its own shift.
/// These are the patches that a convolution's filters read, without a copy.
///   shape   row k, column 8 g + i: planes[shifts[k] + places[g] + i], for i in 0..7
struct shifted_planes {
    const float* planes = nullptr;         // all floats
    const std::int32_t* shifts = nullptr;  // one per row
    std::int64_t depth = 0;                // rows
    const std::int32_t* places = nullptr;  // one per eight columns
    std::int64_t octets = 0;               // columns / 8
    bool pairs_touch = false;              // places[g + 1] is places[g] + 8 for every even g
};

/// Filters, the rows of the product, that are processed together. Weights are packed by as many.
inline constexpr std::int64_t packed_rows = 8;

/// Floats that the packed weights of `rows` rows take.
constexpr std::int64_t packed_size(std::int64_t rows, std::int64_t depth) noexcept {
    return (rows + packed_rows - 1) / packed_rows * packed_rows * depth;
}

/// Multiplies weights with shifted planes.
///   math    out[r, c] = start[r] + sum over k of W[r, k] x[k, c]
///   shape   weights: by blocks of packed_rows rows, in a block [k][row], missing rows as zeros;
///           start: rows, rounded up to packed_rows;   out: rows x (8 octets)
///   cost    2 rows depth 8 octets operations; writes only `out`
void multiply_shifted(const shifted_planes& x, const float* weights, const float* start, float* out,
                      std::int64_t rows) noexcept;

/// Multiplies rows with the transpose of shifted planes and sums over images.
///   math    out[r, k] += sum over images and c of rows[r, c] x[k, c]
///   shape   rows: row_count x (8 octets) for each image;   out: row_count x depth
///   cost    as multiply_shifted, for each image;  the planes of all images and a group of rows
///           should fit into the second-level cache
void correlate_shifted(const shifted_planes& x, const image_series& images, const float* rows,
                       std::int64_t row_count, float* out) noexcept;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/nn/shifted_planes.ipp"
#endif
