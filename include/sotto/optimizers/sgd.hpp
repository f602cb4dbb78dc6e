#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/update/entries.hpp"
#include "sotto/kernels/detail/update/updates.hpp"
#include "sotto/optimizers/optimizer.hpp"

namespace sotto::detail {
inline void check_rate(const char* policy, const double& rate) {
    require_option(policy, "learning_rate", rate, allowed::at_least(0.0));
}

inline void check_share(const char* policy, const char* option, const double& value) {
    require_option(policy, option, value, allowed::at_least(0.0).below(1.0));
}

inline void check_decay(const char* policy, const double& decay) {
    require_option(policy, "weight_decay", decay, allowed::at_least(0.0));
}

/// The learning rate of one step.
///   errors  invalid_option: schedules have made more of it than a float holds
inline float rate_of_step(const char* policy, double learning_rate, double factor) {
    const double rate = learning_rate * factor;
    require_option(policy, "learning_rate, multiplied by its schedules,", rate,
                   allowed::at_least(0.0));
    return static_cast<float>(rate);
}

/// Decay pulls on weights, not on biases or normalisation.
inline float decay_of(const tensor& t, double decay) noexcept {
    return t.kind == tensor_kind::weight ? static_cast<float>(decay) : 0.0f;
}
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

    state(const sgd& options, const layout& tensors) : options_(options), tensors_(tensors) {
        detail::check_rate("sgd", options.learning_rate);
        detail::check_decay("sgd", options.weight_decay);
        require_option("sgd", "decay_momentum", options.decay_momentum,
                       detail::allowed::at_least(0.0).below(1.0).or_exactly(as_exchanged));
        if (options.decay_momentum != as_exchanged) of_decay_.momentum = options.decay_momentum;
        if (options.weight_decay > 0.0) decay_.resize(static_cast<std::size_t>(tensors.size()));
    }

    /// The gradients to come carry this momentum; decay is to have the same.
    void follow_momentum(const detail::carried_momentum& carried) noexcept {
        if (options_.decay_momentum == as_exchanged) of_decay_ = carried;
    }

    double rate_at(const round_info&) const noexcept { return options_.learning_rate; }

    void begin_step(const step_info& step, std::span<const float>) {
        rate_ = detail::rate_of_step("sgd", options_.learning_rate, step.rate_factor);
    }

    void update(const tensor& t, std::span<float> parameters,
                std::span<const float> gradient) noexcept {
        update_part(t, 0, parameters, gradient);
    }

    void update_part(const tensor& t, std::int64_t first, std::span<float> parameters,
                     std::span<const float> gradient) noexcept {
        if (const float decay = detail::decay_of(t, options_.weight_decay); decay > 0.0f)
            detail::kernels::descend_with_decay(
                rate_, decay, static_cast<float>(of_decay_.momentum), of_decay_.nesterov,
                parameters, gradient,
                t.of(std::span(decay_))
                    .subspan(static_cast<std::size_t>(first), parameters.size()));
        else
            detail::kernels::descend(rate_, parameters, gradient);
    }

    std::optional<float> plain_rate(const tensor& t) const noexcept {
        if (detail::decay_of(t, options_.weight_decay) > 0.0f) return std::nullopt;
        return rate_;
    }

    bool updates_sparsely() const noexcept { return decay_.empty(); }

    void update_at(const tensor&, std::span<float> parameters, std::span<const float> gradient,
                   std::span<const std::uint32_t> indices) noexcept {
        detail::kernels::descend_at(rate_, parameters, gradient, indices);
    }

    /// As update_at, with the gradient's values alone.
    void update_entries(const tensor&, std::span<float> parameters,
                        std::span<const std::uint32_t> indices,
                        std::span<const float> values) noexcept {
        detail::kernels::descend_values_at(rate_, parameters, indices, values);
    }

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
