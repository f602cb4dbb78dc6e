#pragma once

#include <concepts>
#include <span>

#include "sotto/core/random.hpp"

namespace sotto::nn {

/// Arguments of a forward pass besides the input: the parameters, and the network's other state.
/// Parameters alone convert to a training pass.
struct pass {
    std::span<const float> parameters{};  // of the whole network
    std::span<const float> buffers{};     // of the whole network, as in evaluation
    std::span<float> next_buffers{};      // buffers after a training pass; may be the same memory
    bool training = true;                 // false: as in evaluation, without draws or new buffers
    random_stream random{0};              // of this pass; a layer splits it by its name

    pass() = default;

    /// A training pass without buffers or draws.
    template <std::convertible_to<std::span<const float>> Parameters>
    pass(const Parameters& at) : parameters(at) {}
};

}  // namespace sotto::nn
