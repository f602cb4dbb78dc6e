#pragma once

#include "sotto/nn/batch_norm.hpp"

#include <algorithm>
#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/nn/detail/rows.hpp"

namespace sotto::nn {

SOTTO_DECL std::span<const float> batch_norm::state::activations(
    std::span<const float> in) const noexcept {
    return out_.first(static_cast<std::int64_t>(in.size()));
}

SOTTO_DECL std::span<const float> batch_norm::state::forward(const pass& at,
                                                             std::span<const float> in) {
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

SOTTO_DECL double batch_norm::state::planes::divisor() const noexcept {
    return static_cast<double>(std::max<std::int64_t>(1, values()));
}

SOTTO_DECL void batch_norm::state::turn(std::span<const float> from, std::span<float> to,
                                        std::int64_t rows, std::int64_t columns) noexcept {
    detail::nn::swap_axes(from.data(), to.data(), rows, columns, 1);
}

SOTTO_DECL void batch_norm::state::normalise(const pass& at, const planes& of,
                                             std::span<const float> in, std::span<float> out) {
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

SOTTO_DECL void batch_norm::state::differentiate(std::span<const float> parameters,
                                                 const planes& of, std::span<const float> in,
                                                 std::span<const float> out_gradient,
                                                 std::span<float> gradient,
                                                 std::span<float> in_gradient) {
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
            detail::kernels::normalise_back(plane(in), plane(out_gradient), plane(in_gradient), how,
                                            mean_change, slope);
        });
    }
}

SOTTO_DECL batch_norm::state::moments batch_norm::state::moments_of(std::span<const float> in,
                                                                    const planes& of,
                                                                    std::int64_t channel) const {
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
    const double rest = sums.mean / count;  // rounding error of the mean
    return {centre + rest, (std::max)(0.0, sums.variance / count - rest * rest)};
}

SOTTO_DECL void batch_norm::state::move(const pass& at, std::size_t channel, const moments& found,
                                        std::int64_t count) const {
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

SOTTO_DECL detail::kernels::normalisation batch_norm::state::step(std::span<const float> parameters,
                                                                  std::size_t channel) const {
    const double scale = scale_.of(parameters)[channel] * inverses_.first(input_.channels)[channel];
    return {static_cast<float>(means_.first(input_.channels)[channel]), static_cast<float>(scale),
            shift_.of(parameters)[channel], options_.rectified};
}

}  // namespace sotto::nn
