#pragma once

#include "sotto/nn/global_average_pool.hpp"

#include "sotto/core/config.hpp"

namespace sotto::nn {

SOTTO_DECL global_average_pool::state global_average_pool::bind(shape input,
                                                                const blueprint& plan) const {
    check_shape("global_average_pool", input);
    state bound;
    bound.input_ = input;
    bound.output_ = {input.channels, 1, 1};
    bound.height_ = input.height;
    bound.width_ = input.width;
    bound.needs_in_gradient_ = plan.has_parameters();
    return bound;
}

}  // namespace sotto::nn
