#pragma once

#include "sotto/compressors/detail/low_rank_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL low_rank_plan::low_rank_plan(const layout& tensors, std::int64_t rank,
                                        double least_saving) {
    for (const tensor& t : tensors) {
        const std::int64_t rows = t.size > 0 && !t.is_vector() ? t.shape[0] : 0;
        const std::int64_t columns = rows > 0 ? t.size / rows : 0;
        const std::int64_t r = (std::min)({rank, rows, columns});
        const auto factors = static_cast<double>(rows + columns) * static_cast<double>(r);
        const bool pays = r > 0 && factors * least_saving < static_cast<double>(t.size);
        const std::int64_t kept = pays ? r : 0;
        matrices_.add(t.name, {pays ? rows : 0, columns});
        left_.add(t.name, {kept, rows});
        right_.add(t.name, {kept, columns});
    }
}

SOTTO_DECL kernels::low_rank_shape low_rank_plan::shape_of(const tensor& t) const noexcept {
    const auto extent = [&](const layout& of, std::size_t i) {
        return static_cast<std::size_t>(of[t.index].shape[i]);
    };
    return {extent(left_, 1), extent(right_, 1), extent(left_, 0)};
}

SOTTO_DECL std::int64_t low_rank_plan::factors_size(const tensor& t) const noexcept {
    return left_[t.index].size + right_[t.index].size;
}

}  // namespace sotto::detail
