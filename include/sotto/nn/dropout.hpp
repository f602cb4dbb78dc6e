#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sotto/core/random.hpp"
#include "sotto/kernels/detail/nn/elementwise.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {

/// Draws factors that drop each value with probability `rate` and keep the expected value. A factor
/// is 0 or 1 / (1 - rate) and takes one random word.
void draw_mask(double rate, random_stream random, std::span<float> mask);

void check_rate(const std::string& where, const double& rate);

}  // namespace sotto::detail::nn

namespace sotto::nn {

/// Drops values at random in training, so that later layers depend on none of them. The draws
/// depend only on the pass's random stream and the layer's name.
///   math    y = x d / (1 - rate), d = 0 with probability rate, otherwise 1, drawn for each value
///           of the batch;  dx = dy d / (1 - rate);  evaluation returns its input
///   shape   out: as in
///   cost    training: one random word per value, which dominates, and memory for the factors; rate
///           0 and evaluation: none
///   errors  bind throws invalid_option: rate outside [0, 1)
///   source  Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov 2014, Dropout (JMLR 15); here
///           the kept values are scaled up in training instead of the weights down afterwards
struct dropout {
    double rate = 0.5;  // probability of dropping a value

    class state;
    state bind(shape input, blueprint& plan) const;

    void describe(auto&& field) const { field("rate", rate); }
};

class dropout::state {
public:
    shape output() const noexcept { return shape_; }

    std::span<const float> activations(std::span<const float> in) const noexcept;

    std::span<const float> forward(const pass& at, std::span<const float> in);

    std::span<const float> backward(std::span<const float>, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float>, auto&&) {
        if (!drops_) return out_gradient;
        if (!needs_in_gradient_) return {};
        const auto size = static_cast<std::int64_t>(in.size());
        const std::span<float> in_gradient = in_gradient_.take(size);
        detail::kernels::product(out_gradient, mask_.first(size), in_gradient);
        return in_gradient;
    }

private:
    friend struct dropout;

    shape shape_;
    double rate_ = 0.0;
    std::string name_;
    bool needs_in_gradient_ = true;
    bool drops_ = false;  // in the last pass
    detail::nn::buffer<> mask_;
    detail::nn::buffer<> out_;
    detail::nn::buffer<> in_gradient_;
};

inline dropout::state dropout::bind(shape input, blueprint& plan) const {
    state bound;
    bound.name_ = plan.name("dropout");
    check_shape(bound.name_, input);
    detail::nn::check_rate(bound.name_, rate);
    bound.shape_ = input;
    bound.rate_ = rate;
    bound.needs_in_gradient_ = plan.has_parameters();
    return bound;
}

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/dropout.ipp"
#endif
