#pragma once

#include "sotto/transports/simulated_faults.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/sort_stably.hpp"

namespace sotto {

SOTTO_DECL network_fault network_fault::delay(int from, int to, duration at, duration lasts,
                                              duration extra) {
    return {kind::delay, at, from, to, lasts, extra};
}

SOTTO_DECL network_fault network_fault::cut(int one, int other, duration at) {
    return {kind::cut, at, one, other};
}

SOTTO_DECL network_fault network_fault::partition(int from, int to, duration at, duration lasts) {
    return {kind::partition, at, from, to, lasts};
}

SOTTO_DECL network_fault network_fault::pause(int rank, duration at, duration lasts) {
    return {kind::pause, at, rank, 0, lasts};
}

SOTTO_DECL network_fault network_fault::truncate(int from, int to, duration at) {
    return {kind::truncate, at, from, to};
}

SOTTO_DECL network_fault network_fault::duplicate(int from, int to, duration at) {
    return {kind::duplicate, at, from, to};
}

SOTTO_DECL bool network_fault::is_of_connection() const noexcept {
    return what != kind::crash && what != kind::power_loss && what != kind::pause &&
           what != kind::restart;
}

SOTTO_DECL bool network_fault::is_for_a_while() const noexcept {
    return what == kind::delay || what == kind::partition || what == kind::pause;
}

SOTTO_DECL bool network_fault::is_harmless(duration dead_after) const noexcept {
    switch (what) {
        case kind::delay: return extra < dead_after;
        case kind::partition:
        case kind::pause: return lasts < dead_after;
        case kind::restart: return true;
        default: return false;
    }
}

SOTTO_DECL std::string describe(const network_fault& f) {
    const auto seconds = [](duration d) { return std::to_string(in_seconds(d)) + " s"; };
    std::string text = std::string(name_of(f.what)) + " at " + seconds(f.at) + " of rank " +
                       std::to_string(f.rank);
    if (f.is_of_connection()) text += " to " + std::to_string(f.peer);
    if (f.is_for_a_while()) text += " for " + seconds(f.lasts);
    if (f.what == network_fault::kind::delay) text += " by " + seconds(f.extra);
    return text;
}

SOTTO_DECL std::vector<network_fault> random_faults(random_stream random, int ranks,
                                                    std::size_t count, duration horizon,
                                                    duration longest,
                                                    std::span<const network_fault::kind> kinds) {
    std::vector<network_fault> drawn;
    const auto time_below = [&](duration most) {
        return duration(static_cast<std::int64_t>(
            random.below(static_cast<std::uint64_t>(std::max<std::int64_t>(1, most.count())))));
    };
    for (std::size_t i = 0; i < count; ++i) {
        network_fault f;
        f.what = kinds[random.below(kinds.size())];
        f.at = time_below(horizon);
        f.rank = static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
        const int others = (std::max)(1, ranks - 1);
        const int peer =
            (f.rank + 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(others)))) %
            ranks;
        const bool is_short = random.below(2) == 0;
        const duration lasts = time_below(is_short ? horizon / 4 : longest);
        const duration extra = time_below(is_short ? horizon / 16 : longest);
        if (f.is_of_connection()) f.peer = peer;
        if (f.is_for_a_while()) f.lasts = lasts;
        if (f.what == network_fault::kind::delay) f.extra = extra;
        drawn.push_back(f);
    }
    detail::sort_stably(drawn,
                        [](const network_fault& a, const network_fault& b) { return a.at < b.at; });
    return drawn;
}

}  // namespace sotto
