#pragma once

#include "sotto/nn/average_pool2d.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// The mean of each plane of any size: an average pool with one window.
///   shape   out: channels x 1 x 1
struct global_average_pool {
    using state = average_pool2d::state;

    state bind(shape input, const blueprint& plan) const;
};

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/global_average_pool.ipp"
#endif
