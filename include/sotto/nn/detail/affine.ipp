#pragma once

#include "sotto/nn/detail/affine.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::nn {

SOTTO_DECL affine::affine(const std::string& name, sotto::nn::shape input, std::int64_t outputs,
                          nn::start start, sotto::nn::blueprint& plan) {
    check_shape(name, input);
    sotto::nn::check_option(name, "outputs", outputs);
    inputs_ = input.size();
    outputs_ = outputs;
    needs_in_gradient_ = plan.has_parameters();
    weight_ = plan.add_weight(name, {outputs, inputs_}, start, inputs_, outputs);
    bias_ = plan.add_bias(name, outputs);
}

SOTTO_DECL std::span<const float> affine::activations(std::span<const float> in) const noexcept {
    return out_.first(examples(in) * outputs_);
}

SOTTO_DECL std::span<const float> affine::forward(std::span<const float> weights,
                                                  std::span<const float> parameters,
                                                  std::span<const float> in) {
    const std::int64_t batch = examples(in);
    const std::span<float> out = out_.take(batch * outputs_);
    for (std::int64_t i = 0; i < batch; ++i)
        copy_row(bias_.of(parameters).data(), out.data() + i * outputs_, outputs_);
    multiply({in, batch, inputs_}, rows(weights).transpose(), {out, batch, outputs_}, 1.0f);
    return out;
}

SOTTO_DECL std::int64_t affine::examples(std::span<const float> in) const noexcept {
    return static_cast<std::int64_t>(in.size()) / inputs_;
}

SOTTO_DECL matrix<const float> affine::rows(std::span<const float> weights) const {
    return {weights, outputs_, inputs_};
}

}  // namespace sotto::detail::nn
