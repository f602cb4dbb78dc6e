#pragma once

#include "sotto/collectives/measured.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::collectives {

SOTTO_DECL detail::collectives::algorithm fastest_all_reduce(transport_ref through,
                                                             std::int64_t size, std::int64_t rounds,
                                                             wire::value_format format) {
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
            // The first round allocates memory and opens windows, so it does not count.
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

}  // namespace sotto::collectives
