#pragma once

#include "sotto/kernels/detail/nn/shifted_planes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/run_on.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

// Loads sixteen floats from two places.
template <bool Touching>
SOTTO_INLINE void load_octets(floats<16>& to, const float* from,
                              const std::int32_t* places) noexcept {
    if constexpr (Touching) {
        load(to, from + places[0]);
    } else {
        floats<8> low, high;
        load(low, from + places[0]);
        load(high, from + places[1]);
        to = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                                     15);
    }
}

template <bool>
SOTTO_INLINE void load_octets(floats<8>& to, const float* from,
                              const std::int32_t* places) noexcept {
    load(to, from + places[0]);
}

struct multiply_shifted_kernel {
    // Sums Rows x Columns vectors in registers over the whole depth. Each loaded value of the
    // planes is used Rows times, each weight Columns times.
    template <int Lanes, int Rows, int Columns, bool Touching>
    SOTTO_INLINE static void tile(const shifted_planes& x, std::int64_t octet, const float* weights,
                                  const float* start, float* out, std::int64_t rows) noexcept {
        constexpr int octets = Lanes / 8;
        floats<Lanes> sums[std::size_t{Rows}][std::size_t{Columns}];
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
            for (int c = 0; c < Columns; ++c) sums[r][c] = floats<Lanes>{} + start[r];
        for (std::int64_t k = 0; k < x.depth; ++k) {
            const float* from = x.planes + x.shifts[k];
            floats<Lanes> values[std::size_t{Columns}];
#pragma GCC unroll 8
            for (int c = 0; c < Columns; ++c)
                load_octets<Touching>(values[c], from, x.places + octet + c * octets);
#pragma GCC unroll 8
            for (int r = 0; r < Rows; ++r) {
                const float weight = weights[k * packed_rows + r];
#pragma GCC unroll 8
                for (int c = 0; c < Columns; ++c) sums[r][c] += values[c] * weight;
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
            if (r < rows)
#pragma GCC unroll 8
                for (int c = 0; c < Columns; ++c)
                    store(sums[r][c], out + r * x.octets * 8 + (octet + c * octets) * 8);
    }

    // A strip of columns, which fits the first-level cache, is used for all rows before the next
    // strip.
    template <int Lanes, int Rows, int Columns, bool Touching>
    SOTTO_INLINE static void strip(const shifted_planes& x, std::int64_t octet,
                                   const float* weights, const float* start, float* out,
                                   std::int64_t rows) noexcept {
        for (std::int64_t row = 0; row < rows; row += Rows) {
            // With depth 0 there are no weights and no offsets into them.
            const std::int64_t block = row / packed_rows,
                               inside = x.depth > 0 ? row % packed_rows : 0;
            tile<Lanes, Rows, Columns, Touching>(x, octet,
                                                 weights + block * x.depth * packed_rows + inside,
                                                 start + row, out + row * x.octets * 8, rows - row);
        }
    }

    template <int Lanes, int Rows, bool Touching>
    SOTTO_INLINE static void strips(const shifted_planes& x, const float* weights,
                                    const float* start, float* out, std::int64_t rows,
                                    int most) noexcept {
        constexpr std::int64_t octets = Lanes / 8;
        std::int64_t octet = 0;
        while (octet + octets <= x.octets) {
            const std::int64_t left = (x.octets - octet) / octets;
            // Splits four columns into two and two instead of three and one: one column of sums
            // cannot keep the multipliers busy.
            const std::int64_t columns =
                left == 4 ? (std::min)(most, 2) : std::min<std::int64_t>(most, left);
            if (columns == 3)
                strip<Lanes, Rows, 3, Touching>(x, octet, weights, start, out, rows);
            else if (columns == 2)
                strip<Lanes, Rows, 2, Touching>(x, octet, weights, start, out, rows);
            else
                strip<Lanes, Rows, 1, Touching>(x, octet, weights, start, out, rows);
            octet += columns * octets;
        }
        if constexpr (Lanes > 8)
            if (octet < x.octets) strip<8, Rows, 1, true>(x, octet, weights, start, out, rows);
    }

    template <instruction_set Set>
    SOTTO_INLINE static void run(const shifted_planes& x, const float* weights, const float* start,
                                 float* out, std::int64_t rows) noexcept {
        // 8 x 3 sums in 32 registers, 4 x 3 in 16; without fused multiply-adds 4 x 1.
        if constexpr (Set == instruction_set::avx512) {
            if (x.pairs_touch)
                strips<16, 8, true>(x, weights, start, out, rows, 3);
            else
                strips<16, 8, false>(x, weights, start, out, rows, 3);
        } else {
            strips<8, 4, true>(x, weights, start, out, rows, Set == instruction_set::avx2 ? 3 : 1);
        }
    }
};

struct correlate_shifted_kernel {
    // Sums Rows x Depth vectors in registers over all images, then over their lanes. Past the last
    // row or shift, the last one is repeated and its sums are dropped.
    template <int Lanes, int Rows, int Depth, bool Touching>
    SOTTO_INLINE static void tile(const shifted_planes& x, const image_series& images,
                                  const float* rows, std::int64_t row, std::int64_t last_row,
                                  std::int64_t k, std::int64_t first, std::int64_t last,
                                  float* out) noexcept {
        const std::int64_t row_size = x.octets * 8;
        std::int64_t row_at[std::size_t{Rows}];
        std::int64_t shift[std::size_t{Depth}];
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) row_at[r] = (std::min)(row + r, last_row) * row_size;
#pragma GCC unroll 8
        for (int d = 0; d < Depth; ++d) shift[d] = x.shifts[(std::min)(k + d, x.depth - 1)];
        floats<Lanes> sums[std::size_t{Rows}][std::size_t{Depth}] = {};
        for (std::int64_t n = 0; n < images.count; ++n) {
            const float* planes = x.planes + n * images.next_planes;
            const float* ys = rows + n * images.next_rows;
            for (std::int64_t octet = first; octet < last; octet += Lanes / 8) {
                floats<Lanes> y[std::size_t{Rows}];
#pragma GCC unroll 8
                for (int r = 0; r < Rows; ++r) load(y[r], ys + row_at[r] + octet * 8);
#pragma GCC unroll 8
                for (int d = 0; d < Depth; ++d) {
                    floats<Lanes> value;
                    load_octets<Touching>(value, planes + shift[d], x.places + octet);
#pragma GCC unroll 8
                    for (int r = 0; r < Rows; ++r) sums[r][d] += y[r] * value;
                }
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
            for (int d = 0; d < Depth; ++d)
                if (row + r <= last_row && k + d < x.depth)
                    out[(row + r) * x.depth + k + d] += sum_of(sums[r][d]);
    }

    // Keeps rows in the first-level cache during all shifts.
    template <int Lanes, int Rows, int Depth, bool Touching>
    SOTTO_INLINE static void tiles(const shifted_planes& x, const image_series& images,
                                   const float* rows, std::int64_t row_count, std::int64_t first,
                                   std::int64_t last, float* out) noexcept {
        for (std::int64_t row = 0; row < row_count; row += Rows)
            for (std::int64_t k = 0; k < x.depth; k += Depth)
                tile<Lanes, Rows, Depth, Touching>(x, images, rows, row, row_count - 1, k, first,
                                                   last, out);
    }

    template <instruction_set Set>
    SOTTO_INLINE static void run(const shifted_planes& x, const image_series& images,
                                 const float* rows, std::int64_t row_count, float* out) noexcept {
        if constexpr (Set == instruction_set::avx512) {
            const std::int64_t pairs = x.octets / 2 * 2;
            if (x.pairs_touch)
                tiles<16, 4, 6, true>(x, images, rows, row_count, 0, pairs, out);
            else
                tiles<16, 4, 6, false>(x, images, rows, row_count, 0, pairs, out);
            if (pairs < x.octets)
                tiles<8, 4, 6, true>(x, images, rows, row_count, pairs, x.octets, out);
        } else if constexpr (Set == instruction_set::avx2) {
            tiles<8, 4, 3, true>(x, images, rows, row_count, 0, x.octets, out);
        } else {
            tiles<8, 2, 2, true>(x, images, rows, row_count, 0, x.octets, out);
        }
    }
};

SOTTO_DECL void multiply_shifted(const shifted_planes& x, const float* weights, const float* start,
                                 float* out, std::int64_t rows) noexcept {
    run_widest<multiply_shifted_kernel>(x, weights, start, out, rows);
}

SOTTO_DECL void correlate_shifted(const shifted_planes& x, const image_series& images,
                                  const float* rows, std::int64_t row_count, float* out) noexcept {
    run_widest<correlate_shifted_kernel>(x, images, rows, row_count, out);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
