#pragma once

#include <cstdint>

#include "sotto/core/layout.hpp"
#include "sotto/kernels/detail/nn/low_rank.hpp"

namespace sotto::detail {

/// Which tensors of a layout go as two factors, and where these lie. A tensor of two and more
/// dimensions counts as a matrix of its first extent times all others: so filters of a convolution
/// are rows.
///   math    m times k values become r (m + k), r = min(rank, m, k), where that is fewer by more
///           than the factor `least_saving`
class low_rank_plan {
public:
    /// For factors of this rank at most.
    low_rank_plan(const layout& tensors, std::int64_t rank, double least_saving);

    /// Whether the tensor goes as factors.
    bool compresses(const tensor& t) const noexcept { return left_[t.index].size > 0; }

    /// The sizes of a compressed tensor as a matrix, and its rank.
    kernels::low_rank_shape shape_of(const tensor& t) const noexcept;

    /// Floats of both factors.
    std::int64_t factors_size(const tensor& t) const noexcept;

    /// The tensors as matrices, rows x columns. By the tensors' names and indices, as the two that
    /// follow; what is not compressed has no elements in them.
    const layout& matrices() const noexcept { return matrices_; }
    /// Left factors, r x rows: turned, as they lie in memory.
    const layout& left() const noexcept { return left_; }
    /// Right factors, r x columns.
    const layout& right() const noexcept { return right_; }

private:
    layout matrices_, left_, right_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/detail/low_rank_plan.ipp"
#endif
