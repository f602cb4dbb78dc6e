#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// Epochs that all ranks begin together and in which they do the same number of rounds: that of the
/// rank with most data.
class common_epochs {
public:
    /// Borrows the transport.
    explicit common_epochs(transport_ref through)
        : through_(through), plans_(static_cast<std::size_t>(through.size())) {}

    ///   errors  mismatch: another rank's batches have another size, or its epoch begins elsewhere
    epoch_agreement begin(const epoch_plan& plan) {
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

    /// A round of the epoch was done.
    void end_round() noexcept { ++round_; }

    /// What all ranks together read in the round under way, or these of them.
    std::int64_t examples_of_round() const noexcept { return examples_of_round(plans_); }
    /// The same of some ranks alone.
    std::int64_t examples_of_round(std::size_t first, std::size_t count) const noexcept {
        return examples_of_round(std::span(plans_).subspan(first, count));
    }

private:
    std::int64_t examples_of_round(std::span<const epoch_plan> plans) const noexcept {
        std::int64_t total = 0;
        for (const epoch_plan& p : plans)
            if (round_ <= p.examples / p.batch_size)  // else the product could overflow
                total += (std::min)(p.examples - round_ * p.batch_size, p.batch_size);
        return total;
    }

    transport_ref through_;
    std::vector<epoch_plan> plans_;
    std::uint64_t epochs_ = 0;
    std::int64_t round_ = 0;  // of this epoch
};

}  // namespace sotto::detail
