#pragma once

#include "sotto/kernels/detail/nn/low_rank.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

/// left[j][i] = sum over c of matrix[i][c] * right[j][c]. Place c is added to float sum c % 32, the
/// same order on every instruction set.
struct left_factor {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const low_rank_shape& given, const float* matrix,
                                 const float* right, float* left) noexcept {
        const low_rank_shape shape = given;
        for (std::size_t i = 0; i < shape.rows; ++i)
            for (std::size_t j = 0; j < shape.rank; ++j)
                left[j * shape.rows + i] = dot<lanes_of(Set)>(
                    matrix + i * shape.columns, right + j * shape.columns, shape.columns);
    }

    template <int Lanes>
    SOTTO_INLINE static float dot(const float* a, const float* b, std::size_t count) noexcept {
        SOTTO_UNFUSED_BODY
        constexpr std::size_t group = 32, lanes = Lanes, parts = group / lanes;
        floats<Lanes> sums[parts] = {};
        std::size_t i = 0;
        for (; i + group <= count; i += group)
            for (std::size_t part = 0; part < parts; ++part)
                add_products<Lanes>(a + i + part * lanes, b + i + part * lanes, lanes, sums[part]);
        for (std::size_t part = 0; i < count; i += lanes, ++part)
            add_products<Lanes>(a + i, b + i, count - i, sums[part]);
        for (std::size_t half = parts / 2; half > 0; half /= 2)
            for (std::size_t part = 0; part < half; ++part)
                sums[part] = sums[part] + sums[part + half];
        return sum_of(sums[0]);
    }

    template <int Lanes>
    SOTTO_INLINE static void add_products(const float* a, const float* b, std::size_t count,
                                          floats<Lanes>& sum) noexcept {
        SOTTO_UNFUSED_BODY
        floats<Lanes> x, y;
        load_some<Lanes>(x, a, count);
        load_some<Lanes>(y, b, count);
        sum = sum + x * y;
    }
};

/// right[j][c] = sum over i of matrix[i][c] * left[j][i], four rows at a time. Every vector except
/// the first reads these rows from the cache, and the sum is read and written once for all four.
struct right_factor {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const low_rank_shape& given, const float* matrix,
                                 const float* left, float* right) noexcept {
        const low_rank_shape shape = given;
        std::fill_n(right, shape.right_size(), 0.0f);
        std::size_t i = 0;
        for (; i + 4 <= shape.rows; i += 4)
            add_rows<lanes_of(Set), 4>(shape, matrix, left, right, i);
        for (; i < shape.rows; ++i) add_rows<lanes_of(Set), 1>(shape, matrix, left, right, i);
    }

    template <int Lanes, std::size_t Rows>
    SOTTO_INLINE static void add_rows(const low_rank_shape& shape, const float* matrix,
                                      const float* left, float* right, std::size_t i) noexcept {
        const std::size_t columns = shape.columns;
        for (std::size_t j = 0; j < shape.rank; ++j) {
            float factors[Rows];
            for (std::size_t row = 0; row < Rows; ++row)
                factors[row] = left[j * shape.rows + i + row];
            for (std::size_t c = 0; c < columns; c += Lanes)
                add_lanes_of_rows<Lanes, Rows>(factors, matrix + i * columns + c, columns,
                                               columns - c, right + j * columns + c);
        }
    }

    template <int Lanes, std::size_t Rows>
    SOTTO_INLINE static void add_lanes_of_rows(const float (&factors)[Rows], const float* matrix,
                                               std::size_t columns, std::size_t count,
                                               float* to) noexcept {
        SOTTO_UNFUSED_BODY
        floats<Lanes> products[Rows], sum;
        for (std::size_t row = 0; row < Rows; ++row) {
            load_some<Lanes>(products[row], matrix + row * columns, count);
            products[row] = products[row] * factors[row];
        }
        load_some<Lanes>(sum, to, count);
        if constexpr (Rows == 4)
            sum = sum + ((products[0] + products[1]) + (products[2] + products[3]));
        else
            sum = sum + products[0];
        store_some<Lanes>(sum, to, count);
    }
};

/// to[i][c] = or += scale * (sum over j, in order, of left[j][i] * right[j][c]).
template <bool Add>
struct product_of_factors_kernel {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const low_rank_shape& given, const float& scale, const float* left,
                                 const float* right, float* to) noexcept {
        constexpr int lanes = lanes_of(Set);
        const low_rank_shape shape = given;
        for (std::size_t i = 0; i < shape.rows; ++i, to += shape.columns)
            for (std::size_t c = 0; c < shape.columns; c += lanes)
                at<lanes>(shape, scale, left, right, i, c, to + c);
    }

    template <int Lanes>
    SOTTO_INLINE static void at(const low_rank_shape& shape, float scale, const float* left,
                                const float* right, std::size_t i, std::size_t c,
                                float* to) noexcept {
        SOTTO_UNFUSED_BODY
        const std::size_t count = shape.columns - c;
        floats<Lanes> sum = {}, value;
        for (std::size_t j = 0; j < shape.rank; ++j) {
            load_some<Lanes>(value, right + j * shape.columns + c, count);
            sum = sum + value * left[j * shape.rows + i];
        }
        if constexpr (Add) {
            load_some<Lanes>(value, to, count);
            sum = value + sum * scale;
        }
        store_some<Lanes>(sum, to, count);
    }
};

inline void require_low_rank(const char* function, const low_rank_shape& shape, std::size_t matrix,
                             std::size_t left, std::size_t right) {
    require_size_of({"the shape's matrix", shape.size()}, {{"matrix", matrix}}, function);
    require_size_of({"the shape's left factor", shape.left_size()}, {{"left", left}}, function);
    require_size_of({"the shape's right factor", shape.right_size()}, {{"right", right}}, function);
}

SOTTO_DECL void left_factor_of(const low_rank_shape& shape, std::span<const float> matrix,
                               std::span<const float> right, std::span<float> left) {
    require_low_rank("left_factor_of", shape, matrix.size(), left.size(), right.size());
    run_unfused<left_factor>(sotto::kernels::best_instruction_set(), shape, matrix.data(),
                             right.data(), left.data());
}

SOTTO_DECL void right_factor_of(const low_rank_shape& shape, std::span<const float> matrix,
                                std::span<const float> left, std::span<float> right) {
    require_low_rank("right_factor_of", shape, matrix.size(), left.size(), right.size());
    run_unfused<right_factor>(sotto::kernels::best_instruction_set(), shape, matrix.data(),
                              left.data(), right.data());
}

SOTTO_DECL void product_of_factors(const low_rank_shape& shape, std::span<const float> left,
                                   std::span<const float> right, std::span<float> matrix) {
    require_low_rank("product_of_factors", shape, matrix.size(), left.size(), right.size());
    run_unfused<product_of_factors_kernel<false>>(sotto::kernels::best_instruction_set(), shape,
                                                  1.0f, left.data(), right.data(), matrix.data());
}

SOTTO_DECL void add_product_of_factors(const low_rank_shape& shape, float scale,
                                       std::span<const float> left, std::span<const float> right,
                                       std::span<float> matrix) {
    require_low_rank("add_product_of_factors", shape, matrix.size(), left.size(), right.size());
    run_unfused<product_of_factors_kernel<true>>(sotto::kernels::best_instruction_set(), shape,
                                                 scale, left.data(), right.data(), matrix.data());
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
