#pragma once

#include <span>

#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/optimizers/detail/saved_names.hpp"
#include "sotto/optimizers/optimizer.hpp"

namespace sotto {

/// Stochastic gradient descent with heavy-ball or Nesterov momentum.
///   math    d = g + decay * w;  u = m u + d;  w -= rate * u, with Nesterov w -= rate * (d + m u)
///   cost    4 bytes a weight
///   source  Sutskever et al. 2013, On the importance of initialization and momentum in deep
///           learning
struct momentum_sgd {
    double learning_rate = 0.1;  // rate
    double momentum = 0.9;       // m: what of the velocity is kept a step
    bool nesterov = false;       // whether a step looks ahead along the velocity
    double weight_decay = 0.0;   // decay; pulls on weights alone

    class state;
    state bind(const layout& tensors) const;
    void describe(auto&& field) const {
        field("learning_rate", learning_rate);
        field("momentum", momentum);
        field("nesterov", nesterov);
        field("weight_decay", weight_decay);
    }
};

class momentum_sgd::state {
public:
    static constexpr bool steps_by_tensor = true;

    state(const momentum_sgd& options, const layout& tensors);

    double rate_at(const round_info&) const noexcept { return options_.learning_rate; }

    void begin_step(const step_info& step, std::span<const float>);

    void update(const tensor& t, std::span<float> parameters,
                std::span<const float> gradient) noexcept;

    void visit(auto&& field) {
        for (const tensor& t : tensors_) field(names_.of(t), t.of(std::span(velocity_)));
    }

private:
    momentum_sgd options_;
    layout tensors_;
    detail::saved_names names_;
    float rate_ = 0.0f;
    detail::large_vector<float> velocity_;
};

inline momentum_sgd::state momentum_sgd::bind(const layout& tensors) const {
    return {*this, tensors};
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/optimizers/momentum_sgd.ipp"
#endif
