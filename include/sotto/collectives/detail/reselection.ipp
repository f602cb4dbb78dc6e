#pragma once

#include "sotto/collectives/detail/reselection.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/wire/detail/blocks/clamp_to_format.hpp"

namespace sotto::detail::collectives {

SOTTO_DECL reselection::reselection(std::int64_t size, std::int64_t entries_max,
                                    std::int64_t most_max)
    : sums_(static_cast<std::size_t>(size)) {
    const auto entries = (std::min)(size, entries_max), most = (std::min)(entries, most_max);
    summed_.reserve(size, size);
    largest_.reserve(entries, most);
    kept_places_.reserve(static_cast<std::size_t>(most));
    kept_values_.reserve(static_cast<std::size_t>(most));
    left_places_.reserve(static_cast<std::size_t>(entries));
    left_values_.reserve(static_cast<std::size_t>(entries));
}

SOTTO_DECL void reselection::take_out(std::int64_t most, wire::value_format format) {
    kept_places_.clear();
    kept_values_.clear();
    left_places_.clear();
    left_values_.clear();
    if (sums_.empty()) return;
    constexpr float least = std::numeric_limits<float>::denorm_min();  // all except zeros
    const sotto::kernels::selection summed = sotto::kernels::select_above(sums_, least, summed_);
    const auto count = static_cast<std::int64_t>(summed.values.size());
    const std::span<const std::uint32_t> chosen =  // places within `summed`
        sotto::kernels::select_top_k(summed.values, (std::min)(most, count), largest_,
                                     sotto::kernels::nan_policy::largest)
            .indices;
    std::size_t next = 0;
    for (std::size_t j = 0; j < summed.values.size(); ++j) {
        const bool keeps = next < chosen.size() && chosen[next] == j;
        if (keeps) ++next;
        divide(summed.indices[j], summed.values[j], keeps, format);
        sums_[summed.indices[j]] = 0.0f;
    }
}

SOTTO_DECL void reselection::divide(std::uint32_t place, float sum, bool keeps,
                                    wire::value_format format) {
    float rest = sum;
    if (keeps) {
        const float value = wire::clamp_to_format(format, sum);
        kept_places_.push_back(place);
        kept_values_.push_back(value);
        if (format == wire::value_format::fp32) return;
        rest = sum - value;
        if (is_zero(rest)) return;
    }
    left_places_.push_back(place);
    left_values_.push_back(rest);
}

}  // namespace sotto::detail::collectives
