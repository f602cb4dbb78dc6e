#pragma once

#include "sotto/compressors/sampled_top_k.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>

#include "sotto/compressors/selector.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/random.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL sampled_top_k::selector_state::selector_state(const sampled_top_k& options,
                                                         const layout& tensors)
    : options_(options) {
    check_density("sampled_top_k", options.density);
    require_option("sampled_top_k", "sample_share", options.sample_share,
                   detail::allowed::above(0.0).at_most(1.0));
    std::int64_t largest = 0;
    for (const tensor& t : tensors) largest = (std::max)(largest, t.size);
    sample_.reserve(static_cast<std::size_t>(largest));
}

SOTTO_DECL void sampled_top_k::selector_state::begin_round(const round_info& where) noexcept {
    step_ = static_cast<std::uint64_t>(where.step);
}

SOTTO_DECL std::span<const std::uint32_t> sampled_top_k::selector_state::select(
    const tensor& t, std::span<const float> values, std::int64_t k) {
    const std::size_t n = values.size(), wanted = static_cast<std::size_t>(k);
    if (wanted == 0 || wanted == n) return select_top_k_exactly(values, k);
    const std::uint32_t sampled =
        sampled_magnitude(t, values, static_cast<double>(k) / static_cast<double>(n));
    float threshold = std::bit_cast<float>(sampled);
    if (sampled > 0x7F800000) return select_top_k_exactly(values, k);
    auto passed = kernels::select_above(values, threshold, scratch_).indices;
    for (int attempt = 0; attempt < 10 && 10 * passed.size() < 8 * wanted; ++attempt) {
        threshold *= 0.8f;
        passed = kernels::select_above(values, threshold, scratch_).indices;
    }
    if (10 * passed.size() > 13 * wanted) return select_top_k_exactly(values, k);
    return passed.first((std::min)(passed.size(), wanted));
}

SOTTO_DECL std::span<const std::uint32_t> sampled_top_k::selector_state::select_top_k_exactly(
    std::span<const float> values, std::int64_t k) {
    return kernels::select_top_k(values, k, scratch_, kernels::nan_policy::largest).indices;
}

SOTTO_DECL std::uint32_t sampled_top_k::selector_state::sampled_magnitude(
    const tensor& t, std::span<const float> values, double share) {
    const auto n = static_cast<double>(values.size());
    const double size =
        (std::min)(n, (std::max)(std::ceil(options_.sample_share * n), 2.0 / share));
    // A multiple of 32 plus 1 does not fall in step with rows of a power-of-two length.
    const double gap = std::ceil(n / size / 32.0) * 32.0 + 1.0;
    const auto stride =
        size < n / 33.0 ? static_cast<std::size_t>(gap) : static_cast<std::size_t>(n / size);
    auto random = random_stream(step_).split(static_cast<std::uint64_t>(t.index));
    sample_.clear();
    for (std::size_t i = random.below(stride); i < values.size(); i += stride)
        sample_.push_back(std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFF);
    const auto rank =
        (std::min)(static_cast<std::size_t>(std::ceil(share * static_cast<double>(sample_.size()))),
                   sample_.size()) -
        1;
    std::nth_element(sample_.begin(), sample_.begin() + static_cast<std::ptrdiff_t>(rank),
                     sample_.end(), std::greater<>{});
    return sample_[rank];
}

}  // namespace sotto
