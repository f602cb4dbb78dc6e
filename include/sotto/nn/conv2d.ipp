#pragma once

#include "sotto/nn/conv2d.hpp"

#include "sotto/core/config.hpp"
#include "sotto/nn/detail/rows.hpp"

namespace sotto::nn {

SOTTO_DECL std::span<const float> conv2d::state::activations(
    std::span<const float> in) const noexcept {
    return out_.first(examples_in(in, patches_.input) * output_.size());
}

SOTTO_DECL std::span<const float> conv2d::state::forward(const pass& at,
                                                         std::span<const float> in) {
    const std::int64_t batch = examples_in(in, patches_.input);
    const std::span<float> out = out_.take(batch * output_.size());
    const std::span<const float> biases = bias_.of(at.parameters);
    if (direct_) {
        direct_->forward(weight_.of(at.parameters), biases, in, out);
        return out;
    }
    for (std::int64_t n = 0; n < batch; ++n) {
        const auto y = part(out, n, output_.size());
        for (std::int64_t o = 0; o < bias_.size; ++o)
            std::fill_n(y.data() + o * output_.plane(), output_.plane(),
                        biases[static_cast<std::size_t>(o)]);
        multiply(weights(at.parameters), patches_of(in, n), outputs(y),
                 biases.empty() ? 0.0f : 1.0f);
    }
    return out;
}

SOTTO_DECL void conv2d::state::add_up(std::span<const float> out_gradient, std::int64_t batch,
                                      std::span<float> biases) const {
    std::fill(biases.begin(), biases.end(), 0.0f);
    const float* plane = out_gradient.data();
    for (std::int64_t n = 0; n < batch; ++n)
        for (float& sum : biases) {
            sum += detail::nn::sum_row(plane, output_.plane());
            plane += output_.plane();
        }
}

SOTTO_DECL detail::nn::matrix<const float> conv2d::state::weights(
    std::span<const float> parameters) const {
    return {weight_.of(parameters), output_.channels, patches_.length()};
}

SOTTO_DECL detail::nn::matrix<const float> conv2d::state::patches_of(std::span<const float> in,
                                                                     std::int64_t n) {
    const auto image = part(in, n, patches_.input.size());
    if (patches_.are_the_image()) return {image, patches_.length(), output_.plane()};
    const std::span<float> columns = columns_.take(patches_.length() * output_.plane());
    patches_.extract(image, columns);
    return {columns, patches_.length(), output_.plane()};
}

}  // namespace sotto::nn
