#pragma once

#include "sotto/nn/detail/blas.hpp"

#include <cblas.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/nn/detail/blas_memory.hpp"

namespace sotto::detail::nn {

SOTTO_DECL bool use_one_blas_thread() {
    static const bool set = [] {
        if (openblas_set_num_threads == nullptr || std::getenv("OPENBLAS_NUM_THREADS") != nullptr)
            return false;
        openblas_set_num_threads(1);
        return true;
    }();
    return set;
}

SOTTO_DECL int blas_side(std::int64_t side) {
    if (side > 0x7fffffff)
        throw invalid_option("nn::multiply: a matrix has a side of " + std::to_string(side) +
                             "; expected at most 2^31 - 1 (use a smaller batch)");
    return static_cast<int>(side);
}

SOTTO_DECL void multiply(matrix<const float> a, matrix<const float> b, matrix<float> c,
                         float keep) {
    const int m = blas_side(c.rows), n = blas_side(c.columns);
    const int k = blas_side(a.columns);
    if (m == 0 || n == 0) return;
    if (k == 0) {
        const auto size = static_cast<std::size_t>(m) * static_cast<std::size_t>(n);
        std::for_each_n(c.values, size, [keep](float& x) { x = keep == 0.0f ? 0.0f : keep * x; });
        return;
    }
    const auto memory = require_blas_memory();
    cblas_sgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
                b.transposed ? CblasTrans : CblasNoTrans, m, n, k, 1.0f, a.values,
                a.transposed ? m : k, b.values, b.transposed ? k : n, keep, c.values, n);
}

}  // namespace sotto::detail::nn
