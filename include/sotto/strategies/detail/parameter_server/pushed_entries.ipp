#pragma once

#include "sotto/strategies/detail/parameter_server/pushed_entries.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"

namespace sotto::detail {

SOTTO_DECL void pushed_entries::reserve(std::size_t entries, std::size_t tensors) {
    indices_.resize(entries);
    values_.resize(entries);
    ends_.reserve(tensors);
}

SOTTO_DECL void pushed_entries::begin() noexcept {
    size_ = 0;
    ends_.clear();
}

SOTTO_DECL std::span<const std::uint32_t> pushed_entries::indices(std::size_t k) const noexcept {
    return std::span(indices_).subspan(begin_of(k), ends_[k] - begin_of(k));
}

SOTTO_DECL std::span<float> pushed_entries::values(std::size_t k) noexcept {
    return std::span(values_).subspan(begin_of(k), ends_[k] - begin_of(k));
}

SOTTO_DECL void pushed_entries::take(const tensor& t, int rank, const sparse_view& read) {
    if (const auto k = kernels::first_non_finite(read.values); k >= 0)
        throw non_finite(rank, t.name, read.indices[static_cast<std::size_t>(k)]);
    size_ += read.indices.size();
    ends_.push_back(size_);
}

}  // namespace sotto::detail
