#pragma once

#include "sotto/strategies/detail/common_epochs.hpp"

#include <algorithm>
#include <string>

#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

SOTTO_DECL epoch_agreement common_epochs::begin(const epoch_plan& plan) {
    collectives::all_gather_values(through_, plan, std::span(plans_),
                                   {channels::epochs, 0, epochs_++});
    round_ = plan.first_round;
    epoch_agreement agreed;
    for (int rank = 0; rank < through_.size(); ++rank) {
        const epoch_plan& p = plans_[static_cast<std::size_t>(rank)];
        if (p.examples < 0 || p.batch_size != plan.batch_size || p.batch_size < 1 ||
            p.first_round != plan.first_round)
            throw mismatch("rank " + std::to_string(rank) + " begins an epoch of " +
                           std::to_string(p.examples) + " examples in batches of " +
                           std::to_string(p.batch_size) + " from round " +
                           std::to_string(p.first_round) + " on; this rank's batches are of " +
                           std::to_string(plan.batch_size) + ", from round " +
                           std::to_string(plan.first_round));
        agreed.rounds = (std::max)(agreed.rounds, p.rounds());
        agreed.stop |= p.stop != 0;
    }
    return agreed;
}

SOTTO_DECL std::int64_t common_epochs::examples_of_round(std::size_t first,
                                                         std::size_t count) const noexcept {
    return examples_of_round(std::span(plans_).subspan(first, count));
}

SOTTO_DECL std::int64_t common_epochs::examples_of_round(
    std::span<const epoch_plan> plans) const noexcept {
    std::int64_t total = 0;
    for (const epoch_plan& p : plans)
        if (round_ <= p.examples / p.batch_size)  // else the product could overflow
            total += (std::min)(p.examples - round_ * p.batch_size, p.batch_size);
    return total;
}

}  // namespace sotto::detail
