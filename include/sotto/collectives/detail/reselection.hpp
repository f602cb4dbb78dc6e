#pragma once

#include <cstdint>
#include <vector>

#include "sotto/kernels/select_top_k.hpp"
#include "sotto/kernels/sparse_add.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::collectives {

/// Adds up runs of entries, takes out the largest sums, and reports what is left of the others.
///   math    kept: the `most` sums of largest magnitude, rounded to the wire format; of equal sums,
///           the lower place. left: all other sums, and the rounding errors of the kept ones. A sum
///           of zero is neither. kept + left = the sum of all runs, exactly
///   shape   places below `size`; at most `entries_max` different ones a round
///   cost    adding O(entries); taking out one read of all `size` sums. 16 bytes a place, touched
///           where there are sums, and 16 bytes an entry
class reselection {
public:
    /// For this many places, and these maxima of entries and kept sums a round.
    reselection(std::int64_t size, std::int64_t entries_max, std::int64_t most_max);

    /// Adds entries. Sums have the same bits as additions to zeros in this order.
    ///   errors  invalid_option: a place that is not below the size
    void add(const kernels::sparse_values& entries) { sotto::kernels::add_sparse(sums_, entries); }

    /// Divides all sums added since the last call into kept() and left(), both ascending.
    void take_out(std::int64_t most, wire::value_format format);

    /// Largest sums of the last division, ascending by place.
    kernels::sparse_values kept() const noexcept { return {kept_places_, kept_values_}; }
    /// Rest of the last division, ascending by place.
    kernels::sparse_values left() const noexcept { return {left_places_, left_values_}; }

private:
    void divide(std::uint32_t place, float sum, bool keeps, wire::value_format format);

    std::vector<float> sums_;  // all zero between rounds
    sotto::kernels::top_k_scratch summed_;
    sotto::kernels::top_k_scratch largest_;
    std::vector<std::uint32_t> kept_places_;
    std::vector<float> kept_values_;
    std::vector<std::uint32_t> left_places_;
    std::vector<float> left_values_;
};

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/detail/reselection.ipp"
#endif
