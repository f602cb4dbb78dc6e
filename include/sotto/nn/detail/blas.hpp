#pragma once

#include <cstdint>
#include <span>
#include <utility>

// OpenBLAS has this function, other BLAS libraries have not: then its address is null.
extern "C" [[gnu::weak]] void openblas_set_num_threads(int count);

namespace sotto::detail::nn {

/// Keeps OpenBLAS to the calling thread: workers are what runs in parallel here, and threads below
/// them only get in each other's way. Does nothing when OPENBLAS_NUM_THREADS says what the user
/// wants, or with another BLAS. Only the first call of a process has an effect. Returns whether it
/// set the number.
bool use_one_blas_thread();

/// Row-major floats that belong to somebody else, possibly to be read as their transpose.
template <class T>
struct matrix {
    T* values = nullptr;       // the first one
    std::int64_t rows = 0;     // of the matrix as it is read
    std::int64_t columns = 0;  // of the matrix as it is read
    bool transposed = false;   // memory holds columns x rows

    /// A view of values in rows, one after another.
    matrix(std::span<T> all, std::int64_t row_count, std::int64_t column_count)
        : values(all.data()), rows(row_count), columns(column_count) {}

    /// The same values with rows and columns exchanged.
    matrix transpose() const {
        matrix other = *this;
        std::swap(other.rows, other.columns);
        other.transposed = !transposed;
        return other;
    }
};

int blas_side(std::int64_t side);

/// The matrix product.
///   math    c = a b + keep c
///   shape   a: m x k;  b: k x n;  c: m x n, not transposed, overlapping neither;  sides may be 0
///   cost    2 m n k operations in one call of sgemm
///   errors  invalid_option: a side above 2^31 - 1; io_failure: address space is limited (ulimit
///           -v) and has no room for a buffer of OpenBLAS
void multiply(matrix<const float> a, matrix<const float> b, matrix<float> c, float keep = 0.0f);

}  // namespace sotto::detail::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/detail/blas.ipp"
#endif
