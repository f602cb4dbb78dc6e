#pragma once

#include <cstdint>
#include <utility>

#include "sotto/losses/cross_entropy.hpp"
#include "sotto/models/sequential.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/conv2d.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/max_pool2d.hpp"
#include "sotto/nn/relu.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::models {
// Pooling before relu gives the same result as after it, with a quarter of the values.
inline auto lenet_layers(std::int64_t classes) {
    using nn::start;
    return sotto::nn::chain{sotto::nn::conv2d{.channels = 8, .kernel = 5, .start = start::lecun},
                            sotto::nn::max_pool2d{},
                            sotto::nn::relu{},
                            sotto::nn::conv2d{.channels = 32, .kernel = 5, .start = start::lecun},
                            sotto::nn::max_pool2d{},
                            sotto::nn::relu{},
                            sotto::nn::dense{.outputs = 128},
                            sotto::nn::relu{},
                            sotto::nn::dense{.outputs = classes, .start = start::glorot}};
}
}  // namespace sotto::detail::models

namespace sotto::models {

/// A small convolutional network for small images: `lenet model{}` for 28 x 28 pixels and ten
/// classes.
///   shape   conv 5x5 to 8 planes, pool, conv 5x5 to 32 planes, pool, dense 128, dense classes,
///           with relu in between: 73,594 parameters for the default
///   errors  invalid_option: images below 16 x 16, classes below 1
///   source  after LeCun, Bottou, Bengio, Haffner 1998, Gradient-based learning applied to document
///           recognition
template <class Loss = cross_entropy>
class lenet : public sequential<decltype(detail::models::lenet_layers(10)), Loss> {
public:
    /// Creates a model for images of this shape.
    explicit lenet(nn::shape input = {1, 28, 28}, std::int64_t classes = 10, Loss criterion = {})
        : sequential<decltype(detail::models::lenet_layers(10)), Loss>(
              input, detail::models::lenet_layers(classes), std::move(criterion)) {}
};

}  // namespace sotto::models
