#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/optimizers/optimizer.hpp"

namespace sotto::detail {
void check_rate(const char* policy, const double& rate);

void check_share(const char* policy, const char* option, const double& value);

void check_decay(const char* policy, const double& decay);

/// The learning rate of one step.
///   errors  invalid_option: schedules have made more of it than a float holds
float rate_of_step(const char* policy, double learning_rate, double factor);

/// Decay pulls on weights, not on biases or normalisation.
float decay_of(const tensor& t, double decay) noexcept;
}  // namespace sotto::detail

namespace sotto {

/// Plain stochastic gradient descent.
///   math    w -= rate * g.  With weight decay d = decay * w a buffer of its own: b = m b + d, w -=
///           rate * (g + b), with Nesterov w -= rate * (g + d + m b). Momentum and Nesterov are
///           those that the exchange gave the gradient: decay then weighs as in momentum SGD, and
///           never enters what workers remember. Weights only, not biases or normalisation
///   cost    nothing beside the parameters; with weight decay 4 bytes a weight
///   source  for the separate buffer: the code published with Lin et al. 2018, arXiv:1712.01887
struct sgd {
    static constexpr double as_exchanged = -1.0;  // the compressor's momentum, 0 without one

    double learning_rate = 0.1;            // rate
    double weight_decay = 0.0;             // decay; pulls on weights alone
    double decay_momentum = as_exchanged;  // m of the decay's buffer: else in [0, 1)

    static constexpr bool linear = true;
    class state;
    state bind(const layout& tensors) const;
    void describe(auto&& field) const {
        field("learning_rate", learning_rate);
        field("weight_decay", weight_decay);
        field("decay_momentum", decay_momentum);
    }
};

class sgd::state {
public:
    static constexpr bool steps_by_tensor = true;

    state(const sgd& options, const layout& tensors);

    /// The gradients to come carry this momentum; decay is to have the same.
    void follow_momentum(const detail::carried_momentum& carried) noexcept;

    double rate_at(const round_info&) const noexcept { return options_.learning_rate; }

    void begin_step(const step_info& step, std::span<const float>);

    void update(const tensor& t, std::span<float> parameters,
                std::span<const float> gradient) noexcept;

    void update_part(const tensor& t, std::int64_t first, std::span<float> parameters,
                     std::span<const float> gradient) noexcept;

    std::optional<float> plain_rate(const tensor& t) const noexcept;

    bool updates_sparsely() const noexcept { return decay_.empty(); }

    void update_at(const tensor&, std::span<float> parameters, std::span<const float> gradient,
                   std::span<const std::uint32_t> indices) noexcept;

    /// As update_at, with the gradient's values alone.
    void update_entries(const tensor&, std::span<float> parameters,
                        std::span<const std::uint32_t> indices,
                        std::span<const float> values) noexcept;

    void visit(auto&& field) {
        for (const tensor& t : tensors_)
            if (!decay_.empty()) field("decay/" + t.name, t.of(std::span(decay_)));
    }

private:
    sgd options_;
    layout tensors_;
    detail::carried_momentum of_decay_;
    float rate_ = 0.0f;
    std::vector<float> decay_;
};

inline sgd::state sgd::bind(const layout& tensors) const {
    return {*this, tensors};
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/optimizers/sgd.ipp"
#endif
