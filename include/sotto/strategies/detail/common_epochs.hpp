#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/strategies/strategy.hpp"
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
    epoch_agreement begin(const epoch_plan& plan);

    /// A round of the epoch was done.
    void end_round() noexcept { ++round_; }

    /// What all ranks together read in the round under way, or these of them.
    std::int64_t examples_of_round() const noexcept { return examples_of_round(plans_); }
    /// The same of some ranks alone.
    std::int64_t examples_of_round(std::size_t first, std::size_t count) const noexcept;

private:
    std::int64_t examples_of_round(std::span<const epoch_plan> plans) const noexcept;

    transport_ref through_;
    std::vector<epoch_plan> plans_;
    std::uint64_t epochs_ = 0;
    std::int64_t round_ = 0;  // of this epoch
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/common_epochs.ipp"
#endif
