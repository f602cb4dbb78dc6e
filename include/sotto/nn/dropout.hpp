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

/// Factors that drop each value with probability `rate` and keep the mean of the others:
/// 0 or 1 / (1 - rate), one random word each.
void draw_mask(double rate, random_stream random, std::span<float> mask);

void check_rate(const std::string& where, const double& rate);

}  // namespace sotto::detail::nn

namespace sotto::nn {

/// Leaves out values at random while training, so that the layers behind rely on none of them.
///   math    y = x d / (1 - rate), d = 0 with probability rate and else 1, drawn for each value of
///           the batch;  dx = dy d / (1 - rate);  evaluation passes its input through
///   shape   out: as in
///   cost    training: one random word a value, by far the most of it, and the factors in memory;
///           rate 0 and evaluation: none
///   errors  bind throws invalid_option: rate outside [0, 1)
///   source  Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov 2014, Dropout (JMLR 15), with
///           the kept values enlarged while training instead of the weights reduced afterwards
/// The draws are a function of the pass's random stream and the layer's name alone.
struct dropout {
    double rate = 0.5;  // the probability of leaving a value out

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
