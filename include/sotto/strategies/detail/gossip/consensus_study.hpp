#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/gossip/critical_distance.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// Measures exactly how far ranks are apart, by the mean of their parameters. All of it is done by
/// all ranks alike.
///   cost    an all-reduce of the parameters each time, and one of the gradients and of the
///           parameters that they were taken at where the critical distance is estimated; 4 bytes a
///           parameter, 8 more for that
class consensus_study {
public:
    /// `tensors` stay the caller's.
    consensus_study(transport_ref through, const layout& tensors, bool sees_gradients);

    /// Xi. `weight`: of these values in the mean of all; weights add up to the number of ranks.
    /// `number` grows by one with every call.
    double distance(std::span<const float> values, double weight, std::uint64_t number);
    /// The squares of the same, tensor by tensor, which add up to it.
    std::span<const double> squared_distances() const noexcept { return squared_distances_; }

    /// A gradient's tensor, before anything is made of it.
    std::span<float> gradient() noexcept { return gradient_; }

    /// The critical distance, by the gradients and the parameters at which they were taken; not a
    /// number until L is known. A step in which a rank has no data, and so a gradient of 0, says
    /// nothing of the landscape.
    double critical_distance(std::span<const float> parameters, bool has_data, double learning_rate,
                             std::uint64_t number);
    /// The root of the mean of ||g_i||^2 over ranks with data, of those gradients.
    double gradient_norm() const noexcept { return std::sqrt(mean_of_squares_); }

private:
    void take_mean(std::span<const float> values, double weight, std::span<float> mean, tag label);

    void sum_scalars(std::size_t count, std::uint32_t which, std::uint64_t number);

    /// <g - mean g, x - mean x>, of this rank.
    double gradient_along(std::span<const float> parameters) const noexcept;

    const layout* tensors_;
    transport_ref through_;
    collectives::all_reduce sum_, scalars_;
    std::vector<float> scalar_;
    std::vector<double> squared_distances_;  // of the last time
    large_vector<float> mean_, gradient_, mean_gradient_;
    double mean_of_squares_ = std::numeric_limits<double>::quiet_NaN();
    landscape_estimate landscape_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/gossip/consensus_study.ipp"
#endif
