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

/// Exchanges entries with sparse_all_reduce, unless a sum of them as a dense vector would be
/// shorter. For many ranks. The compressor must be sparse, and its memory must take entries back.
///
/// `kept` decides how many sums a step applies. 1, the default, applies about as many sums as one
/// rank sends entries. The other sums wait at their owners. `all` applies every sum: with fp32
/// values the result equals that of all_gather{} bit for bit. If ranks choose the same entries, it
/// sends fewer bytes than all_gather{}. If ranks choose different entries, it sends a rank's own
/// entries once more.
struct sparse_reduce_scatter {
    static constexpr bool sums = false;
    static constexpr double all = (std::numeric_limits<double>::max)();  // value of `kept` that
                                                                         // keeps every sum
    double kept = 1.0;  // sums of all ranks together, in multiples of one rank's entries

    void describe(auto&& field) const {
        if (keeps_all())
            field("kept", std::string_view("all"));
        else
            field("kept", kept);
    }

    /// True if every sum is applied.
    bool keeps_all() const noexcept { return detail::is_finite(kept) && kept == all; }

    /// Maximum number of sums of `world` ranks that are kept if each rank sends `entries` of n
    /// entries.
    std::int64_t kept_at_most(std::int64_t entries, std::int64_t n, int world) const noexcept;

    /// Number of sums to request from sparse_all_reduce if a rank sends `entries` of n entries.
    std::int64_t kept_of(std::int64_t entries, std::int64_t n) const noexcept;

    /// Binds the collective to a transport.
    ///   errors  invalid_option unless `kept` is positive and finite, or `all`
    detail::collectives::sparse_all_reduce bind(
        transport_ref through, std::int64_t n, std::int64_t entries_max,
        wire::value_format format = wire::value_format::fp32) const;
};

}  // namespace sotto::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/sparse_all_reduce.ipp"
#endif
