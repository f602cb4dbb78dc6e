#pragma once

#include <cstdint>

#include "sotto/collectives/detail/folded_ranks.hpp"
#include "sotto/collectives/detail/plan.hpp"
#include "sotto/collectives/detail/planned.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::collectives {

/// Partners exchange halves of the values that they still sum, then quarters, and so on. The sums
/// travel back the same way.
///   math    among the P ranks of folded_ranks, for the distances d = P/2, P/4, ..., 1, both
///           partners add the other's values: s[r] + s[r xor d]
///   cost    2 log2 P steps and 2(P-1)/P of the values a rank. If N > P there are two more steps,
///           in which the ranks from P on and their partners send all values once
///   source  Rabenseifner 2004, Optimization of collective reduction operations (ICCS)
class halving_doubling_plan {
public:
    static constexpr bool adds = true;

    /// Plan of one rank in a world of this size.
    constexpr halving_doubling_plan(int rank, int world) noexcept : ranks_(rank, world) {}

    constexpr void begin(std::int64_t n) noexcept { all_ = {0, n}; }

    constexpr int steps() const noexcept { return ranks_.steps(2 * ranks_.levels()); }

    constexpr step at(int k) const noexcept {
        const int levels = ranks_.levels();
        return ranks_.at(k, 2 * levels, all_, [&](int hop) -> step {
            if (hop < levels) {
                const auto [kept, given] = halves(hop);
                return {partner(hop), given, partner(hop), kept,
                        hop == levels - 1 ? arrival::add_last : arrival::add};
            }
            const int level = 2 * levels - 1 - hop;
            const auto [kept, given] = halves(level);
            return {partner(level), kept, partner(level), given, arrival::replace};
        });
    }

private:
    struct split_range {
        range kept, given;
    };

    constexpr int distance(int level) const noexcept { return ranks_.core() >> (level + 1); }
    constexpr int partner(int level) const noexcept { return ranks_.rank() ^ distance(level); }

    /// Ranges that this rank keeps and sends at a level. The lower partner keeps the lower half.
    constexpr split_range halves(int level) const noexcept {
        range whole = all_;
        for (int l = 0;; ++l) {
            const std::int64_t middle = whole.begin + whole.size() / 2;
            const range lower{whole.begin, middle}, upper{middle, whole.end};
            const bool keeps_upper = (ranks_.rank() & distance(l)) != 0;
            const split_range halves =
                keeps_upper ? split_range{upper, lower} : split_range{lower, upper};
            if (l == level) return halves;
            whole = halves.kept;
        }
    }

    folded_ranks ranks_;
    range all_;
};

}  // namespace sotto::detail::collectives

namespace sotto::collectives {

/// All-reduce with this plan, see planned.
using halving_doubling_all_reduce =
    detail::collectives::planned<detail::collectives::halving_doubling_plan>;

/// Sums by recursive halving and doubling: few bytes in few steps. For medium sizes.
struct halving_doubling {
    static constexpr bool sums = true;

    auto bind(transport_ref through, std::int64_t size_max,
              wire::value_format format = wire::value_format::fp32) const {
        return halving_doubling_all_reduce(
            through, detail::collectives::halving_doubling_plan(through.rank(), through.size()),
            size_max, format);
    }
};

}  // namespace sotto::collectives
