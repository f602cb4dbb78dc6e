#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/update/updates.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/optimizers/detail/saved_names.hpp"
#include "sotto/optimizers/sgd.hpp"

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

    state(const adamw& options, const layout& tensors)
        : options_(options),
          tensors_(tensors),
          mean_names_("adamw/mean/", tensors),
          square_names_("adamw/square/", tensors),
          mean_(static_cast<std::size_t>(tensors.size())),
          square_(static_cast<std::size_t>(tensors.size())) {
        detail::check_rate("adamw", options.learning_rate);
        detail::check_share("adamw", "beta1", options.beta1);
        detail::check_share("adamw", "beta2", options.beta2);
        detail::check_decay("adamw", options.weight_decay);
        require_option("adamw", "epsilon", options.epsilon, detail::allowed::above(0.0));
    }

    double rate_at(const round_info&) const noexcept { return options_.learning_rate; }

    void begin_step(const step_info& step, std::span<const float>) {
        const double t = static_cast<double>(steps_ + 1);
        step_ = {.rate = detail::rate_of_step("adamw", options_.learning_rate, step.rate_factor),
                 .decay = 0.0f,
                 .beta1 = options_.beta1,
                 .beta2 = options_.beta2,
                 .epsilon = static_cast<float>(options_.epsilon),
                 .correction1 = static_cast<float>(1.0 / (1.0 - std::pow(options_.beta1, t))),
                 .correction2 = static_cast<float>(1.0 / (1.0 - std::pow(options_.beta2, t)))};
    }

    void update(const tensor& t, std::span<float> parameters,
                std::span<const float> gradient) noexcept {
        step_.decay = detail::decay_of(t, options_.weight_decay);
        detail::kernels::descend_adamw(step_, parameters, gradient, t.of(std::span(mean_)),
                                       t.of(std::span(square_)));
    }

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
