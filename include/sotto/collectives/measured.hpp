#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::collectives {

/// The fastest algorithm for sums of so many floats here and now. Blocks while all ranks try each
/// of them: every rank calls it, with the same arguments, while nothing else goes through the
/// transport.
///   math    an algorithm's time on a rank is the least of its rounds, its time the greatest of all
///           ranks': a sum is there when the slowest has it. The least time wins, of equals the
///           first of ring, tree, halving_doubling and, in fp32, recursive_doubling: with two
///           bytes a value it is halving_doubling again. Every rank decides on the same times
///   cost    rounds + 1 sums by each algorithm, and 4 size bytes until it returns
///   errors  invalid_option unless rounds is at least 1
inline detail::collectives::algorithm fastest_all_reduce(
    transport_ref through, std::int64_t size, std::int64_t rounds = 3,
    wire::value_format format = wire::value_format::fp32) {
    constexpr std::array candidates{detail::collectives::algorithm::ring,
                                    detail::collectives::algorithm::tree,
                                    detail::collectives::algorithm::halving_doubling,
                                    detail::collectives::algorithm::recursive_doubling};
    using seconds = std::array<double, std::tuple_size_v<decltype(candidates)>>;
    require_option("measured", "rounds", rounds, detail::allowed::at_least(1));
    if (through.size() == 1 || size <= 0) return detail::collectives::algorithm::automatic;

    seconds own;
    own.fill(std::numeric_limits<double>::infinity());
    std::vector<float> values(static_cast<std::size_t>(size));
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (candidates[i] == detail::collectives::algorithm::recursive_doubling &&
            format != wire::value_format::fp32)
            continue;
        detail::collectives::all_reduce sum(through, size, candidates[i], format);
        for (std::int64_t round = 0; round <= rounds; ++round) {
            const time_point start = through.now();
            sum.start(values, {channels::set_up, 0, number++});
            run(through, sum);
            const double taken = in_seconds(through.now() - start);
            // The first takes memory and opens windows.
            if (round > 0) own[i] = round == 1 ? taken : (std::min)(own[i], taken);
        }
    }
    std::vector<seconds> all(static_cast<std::size_t>(through.size()));
    detail::collectives::all_gather_values(through, own, std::span(all),
                                           {channels::set_up, 0, number});
    seconds slowest{};
    for (const seconds& rank : all)
        for (std::size_t i = 0; i < slowest.size(); ++i)
            slowest[i] = (std::max)(slowest[i], rank[i]);
    const auto least = std::min_element(slowest.begin(), slowest.end()) - slowest.begin();
    return candidates[static_cast<std::size_t>(least)];
}

/// Sums by what was fastest when the strategy was bound, for each size of tensor: to be asked for,
/// since it costs some sums to start with, and the order of additions follows from the measurement:
/// a run, also one that is resumed, does not repeat another bit for bit any more. Its ranks still
/// agree on every bit.
struct measured {
    static constexpr bool sums = true;
    std::int64_t rounds = 3;  // of which the fastest counts

    void describe(auto&& field) const { field("rounds", rounds); }

    /// Blocks until every rank has bound the same: see fastest_all_reduce.
    auto bind(transport_ref through, std::int64_t size_max,
              wire::value_format format = wire::value_format::fp32) const {
        return detail::collectives::all_reduce(through, size_max,
                                     fastest_all_reduce(through, size_max, rounds, format), format);
    }
};

}  // namespace sotto::collectives
