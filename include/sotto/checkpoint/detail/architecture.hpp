#pragma once

#include <string>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/core/layout.hpp"

namespace sotto::detail::checkpoint {

/// Structure of a model, which decides if another model can replace it: names and shapes of its
/// parameters and buffers, and a description from the model's class.
struct architecture {
    layout parameters, buffers;  // names, shapes and places
    std::string description{};   // other properties, such as activations and classes

    /// Returns a digest; architectures that differ have different ones.
    digest identity() const;
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/architecture.ipp"
#endif
