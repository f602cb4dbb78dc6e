#pragma once

#include <cstdint>

namespace sotto {

/// Where training stands when a round begins: the same on every rank of a synchronous strategy.
struct round_info {
    std::int64_t step = 0;  // rounds completed before this one
    double epoch = 0.0;     // passes over the data completed before this one, with their fraction
    int rank = 0;           // that is told
    int world_size = 1;     // ranks in the round
    double share = -1.0;    // this rank's part of the round's examples; below 0: as everybody's

    // To a compressor in a hierarchy, rank, world_size and share are of hosts: what is encoded is a
    // host's gradient. What is packed and summed is still a rank's own, of this share; below 0: of
    // `share`.
    double packed_share = -1.0;  // what a packed gradient of this rank counts

    /// By how much this rank's mean gradient counts.
    double weight() const noexcept { return share >= 0.0 ? share : 1.0 / world_size; }
    /// The same where it is packed.
    double packed_weight() const noexcept { return packed_share >= 0.0 ? packed_share : weight(); }
};

}  // namespace sotto

namespace sotto::detail {

/// The momentum that gradients carry which went through a compressor's memory.
struct carried_momentum {
    double momentum = 0.0;  // what a velocity keeps from step to step
    bool nesterov = false;  // whether the step looks ahead along the velocity
};

}  // namespace sotto::detail
