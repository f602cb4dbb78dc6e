#pragma once

#include <bit>
#include <cstdint>

#include "sotto/collectives/plan.hpp"
#include "sotto/collectives/planned.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::collectives {

/// Partners exchange halves of what they still sum, then quarters; the sums go back the same way.
///   math    P = the largest power of two up to N. First rank r < N-P adds x[r+P]. Then, for the
///           distances d = P/2, P/4, ..., 1, both partners add what the other had: s[r] + s[r xor
///           d]
///   cost    2 log2 P steps and 2(P-1)/P of the values a rank; if N > P two steps more, in which
///           ranks from P on and their partners send all values once
///   source  Rabenseifner 2004, Optimization of collective reduction operations (ICCS)
class halving_doubling_plan {
public:
    static constexpr bool adds = true;

    constexpr halving_doubling_plan(int rank, int world) noexcept
        : rank_(rank),
          core_(static_cast<int>(std::bit_floor(static_cast<unsigned>(world)))),
          levels_(std::countr_zero(static_cast<unsigned>(core_))),
          folds_(rank < core_ && rank + core_ < world) {}

    constexpr void begin(std::int64_t n) noexcept { all_ = {0, n}; }

    constexpr int steps() const noexcept {
        return rank_ >= core_ ? 2 : 2 * levels_ + (folds_ ? 2 : 0);
    }

    constexpr step at(int k) const noexcept {
        if (rank_ >= core_) {
            if (k == 0) return {rank_ - core_, all_, nobody, {}, {}};
            return {nobody, {}, rank_ - core_, all_, arrival::replace};
        }
        if (folds_ && k == 0) return {nobody, {}, rank_ + core_, all_, arrival::add};
        if (folds_ && k == steps() - 1) return {rank_ + core_, all_, nobody, {}, {}};
        const int hop = folds_ ? k - 1 : k;
        if (hop < levels_) {
            const auto [kept, given] = halves(hop);
            return {partner(hop), given, partner(hop), kept,
                    hop == levels_ - 1 ? arrival::add_last : arrival::add};
        }
        const int level = 2 * levels_ - 1 - hop;
        const auto [kept, given] = halves(level);
        return {partner(level), kept, partner(level), given, arrival::replace};
    }

private:
    struct split_range {
        range kept, given;
    };

    constexpr int distance(int level) const noexcept { return core_ >> (level + 1); }
    constexpr int partner(int level) const noexcept { return rank_ ^ distance(level); }

    /// What this rank keeps and gives away at a level: the lower half is the lower partner's.
    constexpr split_range halves(int level) const noexcept {
        range whole = all_;
        for (int l = 0;; ++l) {
            const std::int64_t middle = whole.begin + whole.size() / 2;
            const range lower{whole.begin, middle}, upper{middle, whole.end};
            const bool keeps_upper = (rank_ & distance(l)) != 0;
            const split_range halves =
                keeps_upper ? split_range{upper, lower} : split_range{lower, upper};
            if (l == level) return halves;
            whole = halves.kept;
        }
    }

    int rank_;
    int core_;    // ranks that exchange halves
    int levels_;  // log2 of that
    bool folds_;  // stands for a rank outside of the core too
    range all_;
};

template <transport Transport>
using halving_doubling_all_reduce = planned<Transport, halving_doubling_plan>;

/// Sums by recursive halving and doubling: few bytes in few steps. For what is neither small nor
/// large.
struct halving_doubling {
    static constexpr bool sums = true;

    template <transport Transport>
    auto bind(Transport& through, std::int64_t size_max,
              wire::value_format format = wire::value_format::fp32) const {
        return halving_doubling_all_reduce<Transport>(
            through, halving_doubling_plan(through.rank(), through.size()), size_max, format);
    }
};

}  // namespace sotto::collectives
