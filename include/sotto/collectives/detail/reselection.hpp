#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/kernels/select_top_k.hpp"
#include "sotto/kernels/sparse_add.hpp"
#include "sotto/wire/detail/blocks/saturated.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::collectives {

/// Adds up runs of entries, takes out the largest sums, and tells what is left of the others.
///   math    kept: the `most` sums of largest magnitude, of equals the lower place, as they go on
///           the wire. left: all other sums, and what rounding took away from those kept. A sum of
///           zero is neither: kept + left = the sum of all runs, exactly
///   shape   places below `size`; at most `entries_max` different ones a round
///   cost    adding O(entries); taking out one read of all `size` sums. 16 bytes a place, touched
///           where there are sums, and 16 bytes an entry
class reselection {
public:
    /// For so many places, entries and kept sums a round.
    reselection(std::int64_t size, std::int64_t entries_max, std::int64_t most_max)
        : sums_(static_cast<std::size_t>(size)) {
        const auto entries = (std::min)(size, entries_max), most = (std::min)(entries, most_max);
        summed_.reserve(size, size);
        largest_.reserve(entries, most);
        kept_places_.reserve(static_cast<std::size_t>(most));
        kept_values_.reserve(static_cast<std::size_t>(most));
        left_places_.reserve(static_cast<std::size_t>(entries));
        left_values_.reserve(static_cast<std::size_t>(entries));
    }

    /// Sums have the bits that adding in this order to zeros has.
    ///   errors  invalid_option: a place that is not below the size
    void add(const kernels::sparse_values& entries) { sotto::kernels::add_sparse(sums_, entries); }

    /// Divides what was added since the last call into kept() and left(), both ascending.
    void take_out(std::int64_t most, wire::value_format format) {
        kept_places_.clear();
        kept_values_.clear();
        left_places_.clear();
        left_values_.clear();
        if (sums_.empty()) return;
        constexpr float least = std::numeric_limits<float>::denorm_min();  // all but zeros
        const sotto::kernels::selection summed =
            sotto::kernels::select_above(sums_, least, summed_);
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

    /// The largest sums of the last division, ascending by place.
    kernels::sparse_values kept() const noexcept { return {kept_places_, kept_values_}; }
    /// What it left of the others, ascending by place.
    kernels::sparse_values left() const noexcept { return {left_places_, left_values_}; }

private:
    void divide(std::uint32_t place, float sum, bool keeps, wire::value_format format) {
        float rest = sum;
        if (keeps) {
            const float value = wire::saturated(format, sum);
            kept_places_.push_back(place);
            kept_values_.push_back(value);
            if (format == wire::value_format::fp32) return;
            rest = sum - value;
            if (is_zero(rest)) return;
        }
        left_places_.push_back(place);
        left_values_.push_back(rest);
    }

    std::vector<float> sums_;  // all zero between rounds
    sotto::kernels::top_k_scratch summed_;
    sotto::kernels::top_k_scratch largest_;
    std::vector<std::uint32_t> kept_places_;
    std::vector<float> kept_values_;
    std::vector<std::uint32_t> left_places_;
    std::vector<float> left_values_;
};

}  // namespace sotto::detail::collectives
