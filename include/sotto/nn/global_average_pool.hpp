#pragma once

#include "sotto/nn/average_pool2d.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// The mean of every plane, whatever its size: an average pool with one window.
///   shape   out: channels x 1 x 1
struct global_average_pool {
    using state = average_pool2d::state;

    state bind(shape input, const blueprint& plan) const {
        check_shape("global_average_pool", input);
        state bound;
        bound.input_ = input;
        bound.output_ = {input.channels, 1, 1};
        bound.height_ = input.height;
        bound.width_ = input.width;
        bound.needs_in_gradient_ = plan.has_parameters();
        return bound;
    }
};

}  // namespace sotto::nn
