#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/nn/normalise.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/detail/rows.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// Gives every channel mean 0 and variance 1 over the batch, then a scale and a shift that are
/// learned.
///   math    over the m = examples x plane values of a channel: mu = mean, v = mean of (x - mu)^2,
///           y = gamma (x - mu) / sqrt(v + epsilon) + beta; with `rectified` max(0, y), a relu in
///           the same pass over memory.
///           With z = (x - mu) / sqrt(v + epsilon): dbeta = sum dy, dgamma = sum dy z,
///           dx = gamma / sqrt(v + epsilon) (dy - dbeta / m - z dgamma / m)
///           A training pass moves the buffers by `momentum` towards mu and m / (m - 1) v;
///           evaluation normalises by the buffers. A single value has no variance: y = beta, and
///           only the mean's buffer moves. An empty batch moves nothing.
///   shape   out: as in.  weight (gamma, starts at 1), bias (beta, at 0): channels, of the kind
///           normalisation;   buffers running_mean (at 0), running_variance (at 1): channels
///   cost    forward three reads and a write of the input, backward two reads of input and gradient
///           and a write, the second and third read of a channel from the cache that holds one
///           channel of the batch.  Sums run in float over a plane and in double over planes;
///           the variance is taken from deviations, corrected for the rounding of the mean.
///           Planes of one value, as after dense, are turned first so that a channel's values lie
///           side by side: a read and a write more each way.
///   errors  bind throws invalid_option: momentum outside [0, 1], epsilon not above 0
///   source  Ioffe and Szegedy 2015, Batch normalization, arXiv:1502.03167
struct batch_norm {
    bool rectified = false;  // whether a relu follows
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

    std::span<const float> activations(std::span<const float> in) const noexcept {
        return out_.first(static_cast<std::int64_t>(in.size()));
    }

    std::span<const float> forward(const pass& at, std::span<const float> in) {
        const std::int64_t batch = examples_in(in, input_);
        const std::span<float> out = out_.take(static_cast<std::int64_t>(in.size()));
        if (input_.plane() > 1) {
            normalise(at, {batch, input_.plane()}, in, out);
            return out;
        }
        const std::span<float> turned = turned_.take(static_cast<std::int64_t>(in.size()));
        const std::span<float> result = turned_result_.take(static_cast<std::int64_t>(in.size()));
        turn(in, turned, batch, input_.channels);
        normalise(at, {1, batch}, turned, result);
        turn(result, out, input_.channels, batch);
        return out;
    }

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

    /// Where a channel's values lie: planes that are as many channels apart.
    struct planes {
        std::int64_t count = 0;
        std::int64_t size = 0;

        std::int64_t values() const noexcept { return count * size; }
        double divisor() const noexcept {
            return static_cast<double>(std::max<std::int64_t>(1, values()));
        }
    };

    // Calls see(plane) with what cuts a channel's plane out of all values, for each of its planes.
    void each_plane(const planes& of, std::int64_t channel, auto&& see) const {
        const auto size = static_cast<std::size_t>(of.size);
        for (std::int64_t n = 0; n < of.count; ++n) {
            const auto first = static_cast<std::size_t>((n * input_.channels + channel) * of.size);
            see([=](auto values) { return values.subspan(first, size); });
        }
    }

    // From rows x columns to columns x rows.
    static void turn(std::span<const float> from, std::span<float> to, std::int64_t rows,
                     std::int64_t columns) noexcept {
        detail::nn::swap_axes(from.data(), to.data(), rows, columns, 1);
    }

    void normalise(const pass& at, const planes& of, std::span<const float> in,
                   std::span<float> out) {
        const std::span<double> mean = means_.take(input_.channels);
        const std::span<double> inverse = inverses_.take(input_.channels);
        for (std::int64_t c = 0; c < input_.channels; ++c) {
            const auto channel = static_cast<std::size_t>(c);
            const moments found = at.training ? moments_of(in, of, c)
                                              : moments{running_mean_.of(at.buffers)[channel],
                                                        running_variance_.of(at.buffers)[channel]};
            if (at.training) move(at, channel, found, of.values());
            mean[channel] = found.mean;
            inverse[channel] = 1.0 / std::sqrt(found.variance + options_.epsilon);
            const detail::kernels::normalisation how = step(at.parameters, channel);
            each_plane(of, c,
                       [&](auto plane) { detail::kernels::normalise(plane(in), plane(out), how); });
        }
    }

    // Without the input's gradient if that is empty; it may be the output's.
    void differentiate(std::span<const float> parameters, const planes& of,
                       std::span<const float> in, std::span<const float> out_gradient,
                       std::span<float> gradient, std::span<float> in_gradient) {
        for (std::int64_t c = 0; c < input_.channels; ++c) {
            const auto channel = static_cast<std::size_t>(c);
            const detail::kernels::normalisation how = step(parameters, channel);
            double changes = 0.0, products = 0.0;
            each_plane(of, c, [&](auto plane) {
                const detail::kernels::two_sums sums =
                    detail::kernels::sums_of_gradients(plane(in), plane(out_gradient), how);
                changes += sums.first;
                products += sums.second;
            });
            const double inverse = inverses_.first(input_.channels)[channel];
            shift_.of(gradient)[channel] = static_cast<float>(changes);
            scale_.of(gradient)[channel] = static_cast<float>(products * inverse);
            if (in_gradient.empty()) continue;
            const auto mean_change = static_cast<float>(changes / of.divisor());
            const auto slope =
                static_cast<float>(how.scale * inverse * inverse * (products / of.divisor()));
            each_plane(of, c, [&](auto plane) {
                detail::kernels::normalise_back(plane(in), plane(out_gradient), plane(in_gradient),
                                                how, mean_change, slope);
            });
        }
    }

    moments moments_of(std::span<const float> in, const planes& of, std::int64_t channel) const {
        const double count = of.divisor();
        const auto sums_around = [&](float centre) {
            moments sums;
            each_plane(of, channel, [&](auto plane) {
                const detail::kernels::two_sums found =
                    detail::kernels::sums_of_deviations(plane(in), centre);
                sums.mean += found.first;
                sums.variance += found.second;
            });
            return sums;
        };
        const auto centre = static_cast<float>(sums_around(0.0f).mean / count);
        const moments sums = sums_around(centre);
        const double rest = sums.mean / count;  // what rounding left of the mean
        return {centre + rest, (std::max)(0.0, sums.variance / count - rest * rest)};
    }

    void move(const pass& at, std::size_t channel, const moments& found, std::int64_t count) const {
        if (at.next_buffers.empty()) return;
        const auto towards = [&](const tensor& t, double target, bool moves) {
            const double old = t.of(at.buffers)[channel];
            t.of(at.next_buffers)[channel] =
                static_cast<float>(moves ? old + options_.momentum * (target - old) : old);
        };
        const auto values = static_cast<double>(count);
        towards(running_mean_, found.mean, count > 0);
        towards(running_variance_, found.variance * values / (values - 1.0), count > 1);
    }

    detail::kernels::normalisation step(std::span<const float> parameters,
                                        std::size_t channel) const {
        const double scale =
            scale_.of(parameters)[channel] * inverses_.first(input_.channels)[channel];
        return {static_cast<float>(means_.first(input_.channels)[channel]),
                static_cast<float>(scale), shift_.of(parameters)[channel], options_.rectified};
    }

    batch_norm options_;
    shape input_;
    bool needs_in_gradient_ = true;
    tensor scale_;
    tensor shift_;
    tensor running_mean_;
    tensor running_variance_;
    detail::nn::buffer<double> means_;     // of the last pass, a value each channel
    detail::nn::buffer<double> inverses_;  // of the standard deviations
    detail::nn::buffer<> turned_;          // the input of the last pass, channels x examples
    detail::nn::buffer<> turned_result_;   // what came of it, or comes back to it
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
