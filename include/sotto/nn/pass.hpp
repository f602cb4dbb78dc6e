#pragma once

#include <concepts>
#include <span>

#include "sotto/core/random.hpp"

namespace sotto::nn {

/// What layers are given for one pass forward, besides their input: the parameters at which it is
/// made, and what the network keeps apart from them. Parameters alone become a pass that trains.
struct pass {
    std::span<const float> parameters{};  // of the whole network
    std::span<const float> buffers{};     // likewise, as in evaluation
    std::span<float> next_buffers{};      // what they become while training; may be the same memory
    bool training = true;                 // false: as in evaluation, nothing is drawn or kept
    random_stream random{0};              // of this pass; a layer splits its own off by its name

    pass() = default;

    /// A pass that trains, without buffers or draws.
    template <std::convertible_to<std::span<const float>> Parameters>
    pass(const Parameters& at) : parameters(at) {}
};

}  // namespace sotto::nn
