#pragma once

#include "sotto/compressors/residual.hpp"

#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/momentum.hpp"

namespace sotto {

SOTTO_DECL std::span<const float> residual::state::accumulate(const tensor& t,
                                                              std::span<const float> gradient,
                                                              float scale) noexcept {
    const auto next = unsent_.next(t);
    detail::kernels::accumulate(gradient, scale, unsent_.committed(t), next);
    return next;
}

SOTTO_DECL void residual::state::take(const tensor& t, std::span<const std::uint32_t> indices,
                                      std::span<const float> sent, double) noexcept {
    const auto next = unsent_.next(t);
    for (std::size_t j = 0; j < indices.size(); ++j) next[indices[j]] -= sent[j];
}

SOTTO_DECL void residual::state::take_back(const tensor& t, std::span<const std::uint32_t> indices,
                                           std::span<const float> values) noexcept {
    returned_.keep(t, {indices, values});
}

SOTTO_DECL void residual::state::commit() noexcept {
    unsent_.commit();
    returned_.add_to(tensors_, unsent_);
}

SOTTO_DECL void residual::state::rollback() noexcept {
    unsent_.rollback();
    returned_.forget();
}

}  // namespace sotto
