#pragma once

#include "sotto/staleness/gap_aware.hpp"

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/gap.hpp"

namespace sotto {

SOTTO_DECL gap_aware::state::state(const layout& tensors)
    : tensors_(tensors),
      lengths_(static_cast<std::size_t>(tensors.size())),
      steps_(tensors.tensors().size()) {}

SOTTO_DECL void gap_aware::state::compensate(const tensor& t, std::span<float> gradient,
                                             std::span<const float> now,
                                             std::span<const float> then) noexcept {
    detail::kernels::divide_by_gap(gradient, now, then, t.of(std::span(lengths_)), steps(t));
}

SOTTO_DECL void gap_aware::state::compensate_at(const tensor& t, std::span<float> values,
                                                std::span<const std::uint32_t> indices,
                                                std::span<const float> now,
                                                std::span<const float> then) noexcept {
    detail::kernels::divide_by_gap_at(values, indices, now, then, t.of(std::span(lengths_)),
                                      steps(t));
}

SOTTO_DECL void gap_aware::state::moved(const tensor& t, std::span<const float> change) noexcept {
    detail::kernels::add_magnitudes(t.of(std::span(lengths_)), change);
    ++steps_[static_cast<std::size_t>(t.index)];
}

SOTTO_DECL float gap_aware::state::steps(const tensor& t) const noexcept {
    return static_cast<float>(steps_[static_cast<std::size_t>(t.index)]);
}

}  // namespace sotto
