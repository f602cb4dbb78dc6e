#pragma once

#include <cstdint>

namespace sotto {

/// Where training stands when a round begins: the same on every rank of a synchronous strategy.
struct round_info {
    std::int64_t step = 0;  // rounds completed before this one
    double epoch = 0.0;     // passes over the data completed before this one, with their fraction
    int rank = 0;
    int world_size = 1;
    double share = 0.0;  // this rank's part of the round's examples; 0: the same as everybody's

    /// By how much this rank's mean gradient counts.
    double weight() const noexcept { return share > 0.0 ? share : 1.0 / world_size; }
};

/// The momentum that gradients carry which went through a compressor's memory.
struct carried_momentum {
    double momentum = 0.0;
    bool nesterov = false;
};

}  // namespace sotto
