#pragma once

#include "sotto/logging/detail/rank_timeline.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"

namespace sotto::detail {

SOTTO_DECL std::array<part_of_time, 5> timed_step::parts() const noexcept {
    return {{{"load", load},
             {"compute", compute},
             {"compress", compress},
             {"wait", wait},
             {"apply", apply}}};
}

SOTTO_DECL void rank_timeline::begin(int of_rank) noexcept {
    rank = of_rank;
    steps.clear();
}

SOTTO_DECL void rank_timeline::add(timed_step s, double ended, double clock) {
    const double took = s.ended() - s.began;
    waited += s.wait;
    seconds += took;
    if (steps.empty()) by_clock = is_finite(clock);
    if (steps.size() == steps_max || by_clock != is_finite(clock)) return;
    s.began = by_clock ? clock : (std::max)(ended - took, 0.0);
    if (!steps.empty() && s.began < steps.back().began) return;
    steps.push_back(s);
}

}  // namespace sotto::detail
