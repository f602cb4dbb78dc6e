#pragma once

#include "sotto/logging/detail/run_consensus.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"

namespace sotto::detail {

SOTTO_DECL void measured_mean::add(double value) noexcept {
    if (!is_finite(value)) return;
    sum += value;
    ++count;
}

SOTTO_DECL void measured_mean::merge(const measured_mean& other) noexcept {
    sum += other.sum;
    count += other.count;
}

SOTTO_DECL double measured_mean::value() const noexcept {
    return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

SOTTO_DECL void consensus_means::add(const consensus_report& found) noexcept {
    distance.add(found.distance);
    estimate.add(found.estimate);
    target.add(found.target);
    critical.add(found.critical);
    // A controller may do no round in a step.
    if (tells(found)) rounds.add(static_cast<double>(found.rounds < 0 ? 0 : found.rounds));
}

SOTTO_DECL void consensus_means::merge(const consensus_means& next) noexcept {
    distance.merge(next.distance);
    estimate.merge(next.estimate);
    target.merge(next.target);
    critical.merge(next.critical);
    rounds.merge(next.rounds);
}

SOTTO_DECL bool consensus_means::tells(const consensus_report& found) noexcept {
    return found.rounds >= 0 || found.learning_rate > 0.0 || is_finite(found.distance);
}

SOTTO_DECL void tensor_means::begin(std::size_t tensors) {
    if (means_.size() == tensors) return;
    means_.clear();
    means_.reserve(tensors);
    steps_ = 0;
}

SOTTO_DECL void tensor_means::add(std::int64_t epoch, std::span<const double> values) {
    if (values.empty()) return;
    if (epoch != epoch_ || steps_ == 0 || means_.size() != values.size()) {
        means_.assign(values.size(), 0.0);
        steps_ = 0;
        epoch_ = epoch;
    }
    ++steps_;
    for (std::size_t t = 0; t < means_.size(); ++t)
        means_[t] += (values[t] - means_[t]) / static_cast<double>(steps_);
}

SOTTO_DECL void run_consensus::end_epoch() {
    if (halves.size() + 2 > halves.capacity()) halves.reserve(2 * halves.size() + 2);
}

SOTTO_DECL void run_consensus::begin(std::size_t tensors) {
    changes_.begin(tensors);
    distances_.begin(tensors);
}

SOTTO_DECL void run_consensus::add(double epoch, const consensus_report& found, double times) {
    if (!consensus_means::tells(found)) return;
    is_told = true;
    if (found.rounds > 0) rounds += times * static_cast<double>(found.rounds);
    if (is_finite(found.target)) aimed += times;
    if (found.missed) missed += times;
    const auto half = static_cast<std::int64_t>(std::floor(2.0 * epoch)), number = half / 2;
    if (halves.empty() || halves.back().number != half) halves.push_back({.number = half});
    halves.back().squares.add(found.distance * found.distance);
    changes_.add(number, found.squared_changes);
    distances_.add(number, found.squared_distances);
    const double length = found.learning_rate * found.gradient_norm;
    if (is_finite(length) && std::exchange(epoch_of_lengths_, number) != number) lengths_ = {};
    lengths_.add(length);
}

}  // namespace sotto::detail
