#pragma once

#include <concepts>
#include <cstdint>

#include "sotto/core/errors.hpp"

namespace sotto::detail {

/// What the distillation loss weighs beside the labels' own, which weighs 1.
///   at(step) -> double   after so many steps with teachers: finite and at least 0
///   check()              throws invalid_option where the options cannot be
template <class W>
concept distillation_weight = std::copy_constructible<W> &&
    requires(const W& options, std::int64_t step) {
    { options.at(step) } -> std::convertible_to<double>;
    options.check();
};

void check_weight(const char* policy, const double& weight);
}  // namespace sotto::detail

namespace sotto {

/// Always the same.
///   source  Anil et al. 2018, arXiv:1804.03235: 1
struct constant_weight {
    double weight = 1.0;  // at least 0

    /// The weight, at any step.
    double at(std::int64_t) const noexcept { return weight; }
    /// Throws invalid_option unless it is finite and at least 0.
    void check() const { detail::check_weight("constant_weight", weight); }
    void describe(auto&& field) const { field("weight", weight); }
};

/// Grows from 0 in a line, while teachers know little.
///   math    weight x min(1, (t + 1) / steps)
struct ramped_weight {
    double weight = 1.0;        // at the end of the rise
    std::int64_t steps = 1000;  // of the rise

    /// The weight after so many steps with teachers.
    double at(std::int64_t step) const noexcept;
    /// Throws invalid_option: a weight below 0 or not finite, steps below 1.
    void check() const;
    void describe(auto&& field) const {
        field("weight", weight);
        field("steps", steps);
    }
};

/// Halves over and over, as a regulariser that is wanted early and in the way late.
///   math    weight x 2^(-t / half_life)
///   source  that regularisation is to be reduced as training goes on: Sodhani et al. 2020, A
///           closer look at codistillation, arXiv:2010.02838
struct decayed_weight {
    double weight = 1.0;            // at the beginning
    std::int64_t half_life = 1000;  // steps

    /// The weight after so many steps with teachers.
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
