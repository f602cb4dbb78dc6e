#pragma once

#include "sotto/strategies/server_report.hpp"

#include <span>
#include <utility>

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL double share_of(std::int64_t part, std::int64_t whole) noexcept {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

}  // namespace sotto

namespace sotto::detail {

SOTTO_DECL std::int64_t served_worker::most_late() const noexcept {
    auto last = static_cast<std::int64_t>(staleness.size()) - 1;
    while (last >= 0 && staleness[static_cast<std::size_t>(last)] == 0) --last;
    return last;
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL std::int64_t server_report::sum_of(
    std::int64_t detail::served_worker::*part) const noexcept {
    std::int64_t sum = 0;
    for (const detail::served_worker& w : workers) sum += w.*part;
    return sum;
}

}  // namespace sotto

namespace sotto::detail {

SOTTO_DECL std::int64_t served_record::took(int worker, bool dropped) noexcept {
    ++of(worker).rounds;
    return dropped ? ++of(worker).dropped : 0;
}

SOTTO_DECL void served_record::answered(int worker, time_point now) noexcept {
    if (const auto since = std::exchange(of(worker).since, std::nullopt))
        of(worker).waited += now - *since;
}

SOTTO_DECL server_report served_record::report(const server_roles& roles, int rank,
                                               std::uint64_t version,
                                               const staleness_counts& staleness) const {
    server_report made{.rank = rank, .version = static_cast<std::int64_t>(version)};
    for (int worker = 0; worker < static_cast<int>(of_.size()); ++worker) {
        const counts& c = of_[static_cast<std::size_t>(worker)];
        const std::span<const std::int64_t> late = staleness.of(worker);
        made.workers.push_back({.rank = roles.rank_of(worker),
                                .rounds = c.rounds,
                                .dropped = c.dropped,
                                .waited = in_seconds(c.waited),
                                .staleness = {late.begin(), late.end()},
                                .lost = c.lost});
    }
    return made;
}

}  // namespace sotto::detail
