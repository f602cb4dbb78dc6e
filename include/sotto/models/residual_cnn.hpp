#pragma once

#include <cstdint>
#include <utility>

#include "sotto/core/errors.hpp"
#include "sotto/losses/cross_entropy.hpp"
#include "sotto/models/sequential.hpp"
#include "sotto/nn/batch_norm.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/conv2d.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/detail/option_a_shortcut.hpp"
#include "sotto/nn/global_average_pool.hpp"
#include "sotto/nn/repeated.hpp"
#include "sotto/nn/residual.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::models {

sotto::nn::conv2d residual_conv(std::int64_t channels, std::int64_t stride = 1);

inline auto residual_block(std::int64_t channels, std::int64_t stride) {
    return sotto::nn::residual{
        sotto::nn::chain{residual_conv(channels, stride), sotto::nn::batch_norm{.rectified = true},
                         residual_conv(channels), sotto::nn::batch_norm{}},
        nn::option_a_shortcut{.channels = channels, .stride = stride}, true};
}

inline auto residual_layers(std::int64_t blocks, std::int64_t width, std::int64_t classes) {
    sotto::nn::check_option("residual_cnn", "blocks", blocks);
    sotto::nn::check_option("residual_cnn", "width", width);
    sotto::nn::repeated<decltype(residual_block(1, 1))> stages;
    for (std::int64_t stage = 0; stage < 3; ++stage)
        for (std::int64_t block = 0; block < blocks; ++block)
            stages.layers.push_back(
                residual_block(width << stage, stage > 0 && block == 0 ? 2 : 1));
    return sotto::nn::chain{residual_conv(width), sotto::nn::batch_norm{.rectified = true},
                            std::move(stages), sotto::nn::global_average_pool{},
                            sotto::nn::dense{.outputs = classes, .start = nn::start::glorot}};
}

}  // namespace sotto::detail::models

namespace sotto::models {

/// A residual network for small images: `residual_cnn model{}` is the ResNet-20 of the paper, for
/// CIFAR-10.
///   shape   conv 3x3 to `width` planes; three stages of `blocks` blocks of two 3x3 convolutions,
///           each with batch norm and relu; global average pool; dense classes. The second and
///           third stage begin with stride 2 and twice the channels. 6 blocks + 2 layers with
///           weights; 269,722 parameters and 1,376 buffers for the default.
///           Shortcuts have no parameters (option A), convolutions no bias
///   errors  invalid_option: an option below 1
///   source  He, Zhang, Ren, Sun 2016, Deep residual learning, arXiv:1512.03385, section 4.2
template <class Loss = cross_entropy>
class residual_cnn : public sequential<decltype(detail::models::residual_layers(1, 1, 1)), Loss> {
public:
    /// Sizes of a residual_cnn.
    struct options {
        std::int64_t blocks = 3;  // in each of three stages
        std::int64_t width = 16;  // channels of the first stage; each later stage has twice as many
        nn::shape input{3, 32, 32};  // channels x height x width of an image
        std::int64_t classes = 10;   // outputs of the last layer
    };

    /// Creates a model for images of shape `chosen.input`.
    explicit residual_cnn(options chosen = {}, Loss criterion = {})
        : sequential<decltype(detail::models::residual_layers(1, 1, 1)), Loss>(
              chosen.input,
              detail::models::residual_layers(chosen.blocks, chosen.width, chosen.classes),
              std::move(criterion)) {}
};

}  // namespace sotto::models

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/models/residual_cnn.ipp"
#endif
