#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/detail/update/updates.hpp"
#include "sotto/optimizers/detail/saved_names.hpp"
#include "sotto/optimizers/optimizer.hpp"

namespace sotto {

/// Adam with decoupled weight decay.
///   math    m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
///           w -= rate * (decay * w + (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)).
///           1 - b is rounded once, from double, so that betas near 1 mean what they say
///   cost    8 bytes a weight
///   source  Loshchilov and Hutter 2019, Decoupled weight decay regularization, arXiv:1711.05101
struct adamw {
    double learning_rate = 0.001;  // rate
    double beta1 = 0.9;            // b1: what of the mean gradient is kept a step
    double beta2 = 0.999;          // b2: what of the mean square is kept a step
    double epsilon = 1e-8;         // added to the root of the mean square
    double weight_decay = 0.01;    // decay; pulls on weights alone

    class state;
    state bind(const layout& tensors) const;
    void describe(auto&& field) const {
        field("learning_rate", learning_rate);
        field("beta1", beta1);
        field("beta2", beta2);
        field("epsilon", epsilon);
        field("weight_decay", weight_decay);
    }
};

class adamw::state {
public:
    static constexpr bool steps_by_tensor = true;

    state(const adamw& options, const layout& tensors);

    double rate_at(const round_info&) const noexcept { return options_.learning_rate; }

    void begin_step(const step_info& step, std::span<const float>);

    void update(const tensor& t, std::span<float> parameters,
                std::span<const float> gradient) noexcept;

    void commit() noexcept { ++steps_; }

    void visit(auto&& field) {
        field("adamw/steps", steps_);
        for (const tensor& t : tensors_) {
            field(mean_names_.of(t), t.of(std::span(mean_)));
            field(square_names_.of(t), t.of(std::span(square_)));
        }
    }

private:
    adamw options_;
    layout tensors_;
    detail::saved_names mean_names_, square_names_;
    std::int64_t steps_ = 0;
    detail::kernels::adamw_step step_{};
    detail::large_vector<float> mean_, square_;
};

inline adamw::state adamw::bind(const layout& tensors) const {
    return {*this, tensors};
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/optimizers/adamw.ipp"
#endif
