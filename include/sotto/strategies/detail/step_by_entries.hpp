#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/layout.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/staleness/staleness_compensator.hpp"

namespace sotto::detail {

/// A step by the entries of a gradient that came: compensated by how far the tensor `weights` is
/// from what was `read` (empty: not at all), weighted, and applied. `values` may change.
///   cost    of each entry a line of every array, which is asked for once where the step is plain
///           SGD's
template <class Compensator, class Optimizer>
void step_by_entries(Compensator& compensator, Optimizer& optimizer, const tensor& t,
                     std::span<float> weights, std::span<const std::uint32_t> indices,
                     std::span<float> values, std::span<const float> read, float weight) {
    if (!read.empty()) {
        if constexpr (compensating::descends_at<Compensator>)
            if (const auto rate = optimizing::plain_rate(optimizer, t); rate && weight == 1.0f)
                return compensator.descend_at(t, *rate, weights, indices, values, read);
        compensating::compensate_at(compensator, t, values, indices, weights, read);
    }
    if (weight != 1.0f) kernels::scale(values, weight);
    optimizer.update_entries(t, weights, indices, values);
}

}  // namespace sotto::detail
