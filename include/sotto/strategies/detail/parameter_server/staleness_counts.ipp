#pragma once

#include "sotto/strategies/detail/parameter_server/staleness_counts.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void staleness_counts::add(int worker, std::int64_t staleness) {
    auto& counts = of_[static_cast<std::size_t>(worker)];
    const auto at =
        static_cast<std::size_t>(std::clamp<std::int64_t>(staleness, 0, counts_max - 1));
    if (counts.size() <= at) counts.resize(at + 1);
    ++counts[at];
}

SOTTO_DECL std::span<const std::int64_t> staleness_counts::of(int worker) const noexcept {
    return of_[static_cast<std::size_t>(worker)];
}

SOTTO_DECL double staleness_counts::mean_of(std::span<const std::int64_t> counts) noexcept {
    double sum = 0.0, count = 0.0;
    for (std::size_t s = 0; s < counts.size(); ++s) {
        sum += static_cast<double>(s) * static_cast<double>(counts[s]);
        count += static_cast<double>(counts[s]);
    }
    return count > 0.0 ? sum / count : 0.0;
}

}  // namespace sotto::detail
