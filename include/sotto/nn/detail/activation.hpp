#pragma once

#include <cstdint>
#include <span>

#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {

/// A function applied to each value. `Function` writes y from x. Its derivative, as a function of
/// y, writes dx from y and dy. All spans have the same length.
///   math    y = f(x);   dx = f'(x) dy
///   shape   out: as in
template <class Function>
class activation {
public:
    activation() = default;
    /// Creates the state for inputs of this shape. Without `needs_in_gradient`, backward returns
    /// nothing.
    activation(sotto::nn::shape input, bool needs_in_gradient)
        : shape_(input), needs_in_gradient_(needs_in_gradient) {}

    sotto::nn::shape output() const noexcept { return shape_; }

    std::span<const float> activations(std::span<const float> in) const noexcept {
        return out_.first(static_cast<std::int64_t>(in.size()));
    }

    std::span<const float> forward(const sotto::nn::pass&, std::span<const float> in) {
        const std::span<float> out = out_.take(static_cast<std::int64_t>(in.size()));
        Function::forward(in, out);
        return out;
    }

    std::span<const float> backward(std::span<const float>, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float>, auto&&) {
        if (!needs_in_gradient_) return {};
        const std::span<float> in_gradient =
            in_gradient_.take(static_cast<std::int64_t>(in.size()));
        Function::backward(activations(in), out_gradient, in_gradient);
        return in_gradient;
    }

private:
    sotto::nn::shape shape_;
    bool needs_in_gradient_ = true;
    buffer<> out_;
    buffer<> in_gradient_;
};

}  // namespace sotto::detail::nn
