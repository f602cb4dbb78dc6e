#pragma once

#include <cstdint>
#include <span>
#include <utility>

// Null if the BLAS library is not OpenBLAS, which alone has this function.
extern "C" [[gnu::weak]] void openblas_set_num_threads(int count);

namespace sotto::detail::nn {

/// Limits OpenBLAS to the calling thread, because parallel workers already use the cores. Does
/// nothing if the user set OPENBLAS_NUM_THREADS, or with another BLAS. Only the first call in a
/// process has an effect. Returns true if it set the number.
bool use_one_blas_thread();

/// A view of row-major floats that can be read as their transpose.
template <class T>
struct matrix {
    T* values = nullptr;       // first value
    std::int64_t rows = 0;     // as read
    std::int64_t columns = 0;  // as read
    bool transposed = false;   // true: memory holds columns x rows

    /// Views `all` as contiguous rows.
    matrix(std::span<T> all, std::int64_t row_count, std::int64_t column_count)
        : values(all.data()), rows(row_count), columns(column_count) {}

    /// Returns the same values with rows and columns exchanged.
    matrix transpose() const {
        matrix other = *this;
        std::swap(other.rows, other.columns);
        other.transposed = !transposed;
        return other;
    }
};

int blas_side(std::int64_t side);

/// Computes the matrix product.
///   math    c = a b + keep c
///   shape   a: m x k;  b: k x n;  c: m x n, not transposed, overlapping neither;  sides may be 0
///   cost    2 m n k operations in one call of sgemm
///   errors  invalid_option: a side above 2^31 - 1; io_failure: address space is limited
///           (ulimit -v) and has no space for an OpenBLAS buffer
void multiply(matrix<const float> a, matrix<const float> b, matrix<float> c, float keep = 0.0f);

}  // namespace sotto::detail::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/detail/blas.ipp"
#endif
