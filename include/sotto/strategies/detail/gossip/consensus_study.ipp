#pragma once

#include "sotto/strategies/detail/gossip/consensus_study.hpp"

#include <algorithm>

#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"

namespace sotto::detail {

SOTTO_DECL consensus_study::consensus_study(transport_ref through, const layout& tensors,
                                            bool sees_gradients)
    : tensors_(&tensors),
      through_(through),
      sum_(through, tensors.size()),
      scalars_(through, std::max<std::int64_t>(std::ssize(tensors.tensors()), 4)),
      scalar_(std::max<std::size_t>(tensors.tensors().size(), 4)),
      squared_distances_(tensors.tensors().size()),
      mean_(static_cast<std::size_t>(tensors.size())) {
    if (!sees_gradients) return;
    gradient_.resize(mean_.size());
    mean_gradient_.resize(mean_.size());
}

SOTTO_DECL double consensus_study::distance(std::span<const float> values, double weight,
                                            std::uint64_t number) {
    take_mean(values, weight, mean_, {channels::gossip, 1u << 30, number});
    for (const tensor& t : *tensors_)
        scalar_[static_cast<std::size_t>(t.index)] = static_cast<float>(
            kernels::squared_distance(t.of(values), t.of(std::span<const float>(mean_))));
    sum_scalars(squared_distances_.size(), 1, number);
    double all = 0.0;
    for (std::size_t t = 0; t < squared_distances_.size(); ++t)
        all += squared_distances_[t] = scalar_[t] / static_cast<double>(through_.size());
    return std::sqrt(all);
}

SOTTO_DECL double consensus_study::critical_distance(std::span<const float> parameters,
                                                     bool has_data, double learning_rate,
                                                     std::uint64_t number) {
    take_mean(gradient_, 1.0, mean_gradient_, {channels::gossip, (1u << 30) + 1, number});
    take_mean(parameters, 1.0, mean_, {channels::gossip, (1u << 30) + 4, number});
    scalar_[0] = static_cast<float>(kernels::sum_of_squares(gradient_));
    scalar_[1] = static_cast<float>(gradient_along(parameters));
    scalar_[2] = static_cast<float>(kernels::squared_distance(parameters, mean_));
    scalar_[3] = has_data ? 1.0f : 0.0f;
    sum_scalars(4, 2, number);
    const int n = through_.size();
    const double with_data = scalar_[3];
    mean_of_squares_ = scalar_[0] / (std::max)(with_data, 1.0);
    if (with_data == n) {
        landscape_.see_gradients(mean_of_squares_, kernels::sum_of_squares(mean_gradient_), n);
        // What the mean is off by rounding is no difference.
        const double apart = scalar_[2] / static_cast<double>(n);
        if (apart > 1e-12 * kernels::sum_of_squares(mean_))
            landscape_.see_differences(scalar_[1] / static_cast<double>(n), apart);
    }
    if (!landscape_.is_known()) return std::nan("");
    return std::sqrt(squared_critical_distance(landscape_.known(), learning_rate, n));
}

SOTTO_DECL void consensus_study::take_mean(std::span<const float> values, double weight,
                                           std::span<float> mean, tag label) {
    std::copy(values.begin(), values.end(), mean.begin());
    if (weight != 1.0) kernels::scale(mean, static_cast<float>(weight));
    sum_.start(mean, label);
    collectives::run(through_, sum_);
    kernels::scale(mean, 1.0f / static_cast<float>(through_.size()));
}

SOTTO_DECL void consensus_study::sum_scalars(std::size_t count, std::uint32_t which,
                                             std::uint64_t number) {
    scalars_.start(std::span(scalar_).first(count),
                   {channels::gossip, (1u << 30) + 1 + which, number});
    collectives::run(through_, scalars_);
}

SOTTO_DECL double consensus_study::gradient_along(
    std::span<const float> parameters) const noexcept {
    double sum = 0.0;
    for (std::size_t i = 0; i < parameters.size(); ++i)
        sum += (double{gradient_[i]} - mean_gradient_[i]) * (double{parameters[i]} - mean_[i]);
    return sum;
}

}  // namespace sotto::detail
