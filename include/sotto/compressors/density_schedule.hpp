#pragma once

#include "sotto/core/errors.hpp"

namespace sotto::detail {

/// How dense messages are while training goes on. `density(epoch, target)` is the share of entries
/// to send after `epoch` passes over the data, where `target` is the selector's own density; it is
/// at least `target` and never above the first. `check()`, where there is one, throws
/// invalid_option.
template <class S>
concept density_schedule = requires(const S& schedule, double epoch, double target) {
    { schedule.density(epoch, target) } -> std::convertible_to<double>;
};

void check_epochs(const char* policy, const double& epochs);
}  // namespace sotto::detail

namespace sotto {

/// The selector's density from the first step on.
struct constant_density {
    /// The target.
    double density(double, double target) const noexcept { return target; }
    void describe(auto&&) const {}
};

/// The paper's warm-up: densities 1/4, 1/16, 1/64, 1/256 for equal parts of the first `epochs`,
/// then the target.
///   source  Lin et al. 2018, arXiv:1712.01887, section 3.3: 4 epochs in all for CIFAR-10 and
///           ImageNet, 1 for PTB
struct warm_up {
    double epochs = 4.0;  // of the warm-up; passes over the data

    /// The share of entries to send then.
    double density(double epoch, double target) const noexcept;
    /// Throws invalid_option: epochs below 0 or not finite.
    void check() const { detail::check_epochs("warm_up", epochs); }
    void describe(auto&& field) const { field("epochs", epochs); }
};

/// A geometric descent in whole epochs: in epoch e of E the density is target^((e + 1) / (E + 1)).
///   source  the default of the paper's published code
struct exponential_warm_up {
    double epochs = 5.0;  // E; passes over the data

    /// The share of entries to send then.
    double density(double epoch, double target) const noexcept;
    /// Throws invalid_option: epochs below 0 or not finite.
    void check() const { detail::check_epochs("exponential_warm_up", epochs); }
    void describe(auto&& field) const { field("epochs", epochs); }
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/density_schedule.ipp"
#endif
