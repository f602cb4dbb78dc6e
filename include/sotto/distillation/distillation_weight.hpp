#pragma once

#include <concepts>
#include <cstdint>

#include "sotto/core/errors.hpp"

namespace sotto::detail {

/// The weight of the distillation loss. The loss of the labels has weight 1.
///   at(step) -> double   after `step` steps with teachers: finite and at least 0
///   check()              throws invalid_option if the options are invalid
template <class W>
concept distillation_weight = std::copy_constructible<W> &&
    requires(const W& options, std::int64_t step) {
    { options.at(step) } -> std::convertible_to<double>;
    options.check();
};

void check_weight(const char* policy, const double& weight);
}  // namespace sotto::detail

namespace sotto {

/// A constant weight.
///   source  Anil et al. 2018, arXiv:1804.03235: 1
struct constant_weight {
    double weight = 1.0;  // at least 0

    /// Returns the weight at any step.
    double at(std::int64_t) const noexcept { return weight; }
    /// Throws invalid_option unless it is finite and at least 0.
    void check() const { detail::check_weight("constant_weight", weight); }
    void describe(auto&& field) const { field("weight", weight); }
};

/// A weight that grows linearly from 0, while the teachers are still poor.
///   math    weight x min(1, (t + 1) / steps)
struct ramped_weight {
    double weight = 1.0;        // at the end of the ramp
    std::int64_t steps = 1000;  // length of the ramp

    /// Returns the weight after `step` steps with teachers.
    double at(std::int64_t step) const noexcept;
    /// Throws invalid_option: a weight below 0 or not finite, steps below 1.
    void check() const;
    void describe(auto&& field) const {
        field("weight", weight);
        field("steps", steps);
    }
};

/// A weight that halves at a fixed interval: a regulariser that helps early and hurts late.
///   math    weight x 2^(-t / half_life)
///   source  reducing regularisation during training: Sodhani et al. 2020, A closer look at
///           codistillation, arXiv:2010.02838
struct decayed_weight {
    double weight = 1.0;            // at step 0
    std::int64_t half_life = 1000;  // steps

    /// Returns the weight after `step` steps with teachers.
    double at(std::int64_t step) const noexcept;
    /// Throws invalid_option: a weight below 0 or not finite, a half-life below 1.
    void check() const;
    void describe(auto&& field) const {
        field("weight", weight);
        field("half_life", half_life);
    }
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/distillation/distillation_weight.ipp"
#endif
