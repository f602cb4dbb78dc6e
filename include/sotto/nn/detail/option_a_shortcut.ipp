#pragma once

#include "sotto/nn/detail/option_a_shortcut.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::nn {

SOTTO_DECL std::span<const float> option_a_shortcut::state::activations(
    std::span<const float> in) const noexcept {
    return output_ == input_ ? in : out_.first(examples_in(in, input_) * output_.size());
}

SOTTO_DECL std::span<const float> option_a_shortcut::state::forward(const sotto::nn::pass&,
                                                                    std::span<const float> in) {
    if (output_ == input_) return in;
    const std::int64_t batch = examples_in(in, input_);
    const std::span<float> out = out_.take(batch * output_.size());
    const std::int64_t kept = input_.channels * output_.plane();
    for (std::int64_t n = 0; n < batch; ++n) {
        float* y = out.data() + n * output_.size();
        const block_of<const float> from{in.data() + n * input_.size(), stride_ * input_.width,
                                         stride_};
        each_channel(from, y, [this](const auto& x, float* to) {
            copy_block(x, {to, output_.width, 1}, output_.height, output_.width);
        });
        std::fill_n(y + kept, output_.size() - kept, 0.0f);
    }
    return out;
}

}  // namespace sotto::detail::nn
