#pragma once

#include <cstdint>
#include <span>

#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/affine.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// Each output is a weighted sum of all inputs.
///   math    y = W x + b;   dW = dy x^T, db = dy summed over the batch, dx = W^T dy
///   shape   in: any shape of n values;  out: outputs x 1 x 1;  weight: outputs x n;  bias: outputs
///   cost    2 n outputs operations per example forward, twice that backward
///   errors  bind throws invalid_option: outputs below 1
struct dense {
    std::int64_t outputs = 1;                         // per example
    detail::nn::start start = detail::nn::start::he;  // of the weight

    class state;
    state bind(shape input, blueprint& plan) const;

    void describe(auto&& field) const {
        field("outputs", outputs);
        field("start", start);
    }
};

class dense::state {
public:
    shape output() const noexcept { return sum_.output(); }

    std::span<const float> activations(std::span<const float> in) const noexcept;

    std::span<const float> forward(const pass& at, std::span<const float> in);

    std::span<const float> backward(std::span<const float> parameters, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float> gradient,
                                    auto&& on_ready) {
        return sum_.backward(sum_.weight().of(parameters), in, out_gradient, gradient, on_ready,
                             [](std::span<float>) {});
    }

private:
    friend struct dense;

    detail::nn::affine sum_;
};

inline dense::state dense::bind(shape input, blueprint& plan) const {
    state bound;
    bound.sum_ = {plan.name("dense"), input, outputs, start, plan};
    return bound;
}

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/dense.ipp"
#endif
