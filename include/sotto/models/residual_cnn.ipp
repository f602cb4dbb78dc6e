#pragma once

#include "sotto/models/residual_cnn.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::models {

SOTTO_DECL sotto::nn::conv2d residual_conv(std::int64_t channels, std::int64_t stride) {
    return {.channels = channels, .stride = stride, .padding = 1, .bias = false};
}

}  // namespace sotto::detail::models
