#pragma once

#include <string>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/core/layout.hpp"

namespace sotto::detail::checkpoint {

/// What a model consists of, so that one may stand for another: names and shapes of its parameters
/// and its buffers, and what the model's class adds to them.
struct architecture {
    layout parameters, buffers;  // names, shapes and places
    std::string description{};   // of what names and shapes do not say: activations, classes

    /// Two that differ in anything have different ones.
    digest identity() const;
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/architecture.ipp"
#endif
