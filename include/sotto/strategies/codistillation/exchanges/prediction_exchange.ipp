#pragma once

#include "sotto/strategies/codistillation/exchanges/prediction_exchange.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail {

SOTTO_DECL prediction_exchange_state::prediction_exchange_state(const meeting_place& place)
    : place_(place),
      heard_(place.teachers.size()),
      receives_(place.world, place.teachers.size()),
      sends_(place.world, place.students.size()) {
    if (place.leaders.empty())
        throw invalid_option(
            "prediction_exchange: groups that are jobs of their own, see "
            "codistillation_groups, have no transport in common; let them meet in a folder: "
            "checkpoint_exchange");
    place.world.reserve(std::ssize(place.teachers) + std::ssize(place.students));
}

SOTTO_DECL int prediction_exchange_state::rank_of(int group) const noexcept {
    return place_.leaders[static_cast<std::size_t>(group)];
}

SOTTO_DECL completion prediction_exchange_state::complete(collectives::flight& all) {
    while (true) {
        const std::uint64_t seen = place_.world.activity();
        if (const auto ended = all.pop_complete()) return *ended;
        if (place_.world.activity() == seen) place_.world.await(seen);
    }
}

SOTTO_DECL void prediction_exchange_state::refuse(int rank, std::int64_t size) const {
    throw mismatch("prediction_exchange: rank " + std::to_string(rank) + " sends " +
                   std::to_string(size) + " bytes of another batch than rank " +
                   std::to_string(place_.world.rank()) + " has, whose are " +
                   std::to_string(message_.size()) +
                   ": groups must be of as many ranks, and read the same data");
}

}  // namespace sotto::detail
