#pragma once

#include <cstdint>

namespace sotto {

/// State of training at the start of a round, the same on every rank of a synchronous strategy.
struct round_info {
    std::int64_t step = 0;  // number of rounds completed before this one
    double epoch = 0.0;   // passes over the data completed before this one, including the fraction
    int rank = 0;         // this rank
    int world_size = 1;   // number of ranks in the round
    double share = -1.0;  // this rank's fraction of the round's examples; below 0: 1 / world_size

    // In a hierarchy a compressor encodes the gradient of a host: rank, world_size and share refer
    // to hosts. A packed gradient stays the rank's own and has this share; below 0: weight().
    double packed_share = -1.0;  // fraction that a packed gradient of this rank counts

    /// Returns the weight of this rank's mean gradient.
    double weight() const noexcept { return share >= 0.0 ? share : 1.0 / world_size; }
    /// Returns the weight of this rank's packed gradient.
    double packed_weight() const noexcept { return packed_share >= 0.0 ? packed_share : weight(); }
};

}  // namespace sotto

namespace sotto::detail {

/// Momentum in gradients that passed through a compressor's memory.
struct carried_momentum {
    double momentum = 0.0;  // fraction of the velocity that is kept from step to step
    bool nesterov = false;  // true if the step looks ahead along the velocity
};

}  // namespace sotto::detail
