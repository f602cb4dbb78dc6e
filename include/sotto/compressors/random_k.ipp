#pragma once

#include "sotto/compressors/random_k.hpp"

#include <algorithm>
#include <cstddef>

#include "sotto/compressors/selector.hpp"
#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL random_k::selector_state::selector_state(const random_k& options, const layout& tensors)
    : random_(options.seed), round_(options.seed) {
    check_density("random_k", options.density);
    std::int64_t largest = 0;
    for (const tensor& t : tensors) largest = (std::max)(largest, t.size);
    chosen_.reserve(static_cast<std::size_t>(largest));
}

SOTTO_DECL void random_k::selector_state::begin_round(const round_info& where) noexcept {
    round_ = random_.split(static_cast<std::uint64_t>(where.step));
}

SOTTO_DECL std::span<const std::uint32_t> random_k::selector_state::select(
    const tensor& t, std::span<const float> values, std::int64_t k) {
    auto random = round_.split(static_cast<std::uint64_t>(t.index));
    const auto n = static_cast<std::uint64_t>(values.size()), parts = static_cast<std::uint64_t>(k);
    chosen_.resize(static_cast<std::size_t>(k));
    std::uint64_t start = 0, carry = 0;  // start = floor(j * n / k), without overflow
    for (std::uint32_t& index : chosen_) {
        carry += n % parts;
        const std::uint64_t length = n / parts + (carry >= parts ? 1 : 0);
        if (carry >= parts) carry -= parts;
        index = static_cast<std::uint32_t>(start + random.below(length));
        start += length;
    }
    return chosen_;
}

}  // namespace sotto
