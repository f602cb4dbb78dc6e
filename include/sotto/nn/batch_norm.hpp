#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/nn/normalise.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// Normalises each channel to mean 0 and variance 1 over the batch, then applies a learned scale
/// and shift.
///   math    over the m = examples x plane values of a channel: mu = mean, v = mean of (x - mu)^2,
///           y = gamma (x - mu) / sqrt(v + epsilon) + beta. With `rectified`, max(0, y): a relu in
///           the same pass over memory.
///           With z = (x - mu) / sqrt(v + epsilon): dbeta = sum dy, dgamma = sum dy z,
///           dx = gamma / sqrt(v + epsilon) (dy - dbeta / m - z dgamma / m)
///           A training pass moves the buffers by `momentum` towards mu and m / (m - 1) v;
///           evaluation normalises by the buffers. A single value has no variance: y = beta, and
///           only the mean's buffer moves. An empty batch moves nothing.
///   shape   out: as in.  weight (gamma, starts at 1), bias (beta, at 0): channels, of the kind
///           normalisation;   buffers running_mean (at 0), running_variance (at 1): channels
///   cost    forward: three reads and one write of the input. Backward: two reads of input and
///           gradient and one write. The second and third read hit a cache that holds one channel
///           of the batch.
///           Sums are float over a plane and double over planes. The variance is computed from
///           deviations and corrected for the rounding of the mean.
///           Planes of one value, as after dense, are first transposed to make each channel
///           contiguous: one more read and write in each direction.
///   errors  bind throws invalid_option: momentum outside [0, 1], epsilon not above 0
///   source  Ioffe and Szegedy 2015, Batch normalization, arXiv:1502.03167
struct batch_norm {
    bool rectified = false;  // true: a relu follows
    double momentum = 0.1;   // of a training pass, see math
    double epsilon = 1e-5;   // added to variances

    class state;
    state bind(shape input, blueprint& plan) const;

    void describe(auto&& field) const {
        field("rectified", rectified);
        field("momentum", momentum);
        field("epsilon", epsilon);
    }
};

class batch_norm::state {
public:
    shape output() const noexcept { return input_; }

    std::span<const float> activations(std::span<const float> in) const noexcept;

    std::span<const float> forward(const pass& at, std::span<const float> in);

    std::span<const float> backward(std::span<const float> parameters, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float> gradient,
                                    auto&& on_ready) {
        const std::int64_t batch = examples_in(in, input_);
        const auto size = static_cast<std::int64_t>(in.size());
        const std::span<float> in_gradient =
            needs_in_gradient_ ? in_gradient_.take(size) : std::span<float>{};
        if (input_.plane() > 1) {
            differentiate(parameters, {batch, input_.plane()}, in, out_gradient, gradient,
                          in_gradient);
        } else {
            const std::span<float> change = turned_result_.take(size);
            turn(out_gradient, change, batch, input_.channels);
            differentiate(parameters, {1, batch}, turned_.first(size), change, gradient,
                          needs_in_gradient_ ? change : std::span<float>{});
            if (needs_in_gradient_) turn(change, in_gradient, input_.channels, batch);
        }
        on_ready(std::as_const(shift_));
        on_ready(std::as_const(scale_));
        return in_gradient;
    }

private:
    friend struct batch_norm;

    struct moments {
        double mean = 0.0;
        double variance = 0.0;
    };

    /// Planes of one channel; consecutive ones are one plane of each channel apart.
    struct planes {
        std::int64_t count = 0;
        std::int64_t size = 0;

        std::int64_t values() const noexcept { return count * size; }
        double divisor() const noexcept;
    };

    // Calls see(plane) for each plane of a channel; plane(values) returns that plane's part of
    // them.
    void each_plane(const planes& of, std::int64_t channel, auto&& see) const {
        const auto size = static_cast<std::size_t>(of.size);
        for (std::int64_t n = 0; n < of.count; ++n) {
            const auto first = static_cast<std::size_t>((n * input_.channels + channel) * of.size);
            see([=](auto values) { return values.subspan(first, size); });
        }
    }

    // Transposes rows x columns to columns x rows.
    static void turn(std::span<const float> from, std::span<float> to, std::int64_t rows,
                     std::int64_t columns) noexcept;

    void normalise(const pass& at, const planes& of, std::span<const float> in,
                   std::span<float> out);

    // Skips the input's gradient if `in_gradient` is empty. It may be the same as `out_gradient`.
    void differentiate(std::span<const float> parameters, const planes& of,
                       std::span<const float> in, std::span<const float> out_gradient,
                       std::span<float> gradient, std::span<float> in_gradient);

    moments moments_of(std::span<const float> in, const planes& of, std::int64_t channel) const;

    void move(const pass& at, std::size_t channel, const moments& found, std::int64_t count) const;

    detail::kernels::normalisation step(std::span<const float> parameters,
                                        std::size_t channel) const;

    batch_norm options_;
    shape input_;
    bool needs_in_gradient_ = true;
    tensor scale_;
    tensor shift_;
    tensor running_mean_;
    tensor running_variance_;
    detail::nn::buffer<double> means_;     // of the last pass, one per channel
    detail::nn::buffer<double> inverses_;  // of the standard deviations
    detail::nn::buffer<> turned_;          // input of the last pass, channels x examples
    detail::nn::buffer<> turned_result_;   // transposed output, or its gradient
    detail::nn::buffer<> out_;
    detail::nn::buffer<> in_gradient_;
};

inline batch_norm::state batch_norm::bind(shape input, blueprint& plan) const {
    const std::string name = plan.name("batch_norm");
    check_shape(name, input);
    require_option(name, "momentum", momentum, detail::allowed::at_least(0.0).at_most(1.0));
    require_option(name, "epsilon", epsilon, detail::allowed::above(0.0));
    state bound;
    bound.options_ = *this;
    bound.input_ = input;
    bound.needs_in_gradient_ = plan.has_parameters();
    bound.scale_ = plan.add_normalisation(name, "weight", input.channels, 1.0);
    bound.shift_ = plan.add_normalisation(name, "bias", input.channels, 0.0);
    bound.running_mean_ = plan.add_buffer(name, "running_mean", input.channels, 0.0f);
    bound.running_variance_ = plan.add_buffer(name, "running_variance", input.channels, 1.0f);
    return bound;
}

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/batch_norm.ipp"
#endif
