#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::collectives {
class sparse_all_reduce;
}  // namespace sotto::detail::collectives

namespace sotto::collectives {

/// Exchanges entries by sparse_all_reduce, where a sum of them as a dense vector would not be
/// shorter: for many ranks. The compressor must be sparse and its memory take entries back.
///
/// `kept` decides how many sums a step applies. 1, the default, applies about as many as one rank
/// sends entries; all others wait at their owners. `all` applies every sum, of fp32 values bit for
/// bit as all_gather{} does. It sends fewer bytes than all_gather{} where ranks choose the same
/// entries. Where ranks choose different entries it sends a rank's own entries once more.
struct sparse_reduce_scatter {
    static constexpr bool sums = false;
    static constexpr double all = (std::numeric_limits<double>::max)();  // as `kept`: every sum
    double kept = 1.0;  // sums of all ranks together, in multiples of what one rank sends

    void describe(auto&& field) const {
        if (keeps_all())
            field("kept", std::string_view("all"));
        else
            field("kept", kept);
    }

    /// Whether every sum is applied.
    bool keeps_all() const noexcept { return detail::is_finite(kept) && kept == all; }

    /// The most sums of `world` ranks that are kept, where each sends so many of n entries.
    std::int64_t kept_at_most(std::int64_t entries, std::int64_t n, int world) const noexcept;

    /// The sums that sparse_all_reduce is asked for, where a rank sends so many of n entries.
    std::int64_t kept_of(std::int64_t entries, std::int64_t n) const noexcept;

    ///   errors  invalid_option unless `kept` is positive and finite, or `all`
    detail::collectives::sparse_all_reduce bind(
        transport_ref through, std::int64_t n, std::int64_t entries_max,
        wire::value_format format = wire::value_format::fp32) const;
};

}  // namespace sotto::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/sparse_all_reduce.ipp"
#endif
