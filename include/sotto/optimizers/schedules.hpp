#pragma once

#include <concepts>

#include "sotto/core/errors.hpp"
#include "sotto/core/round_info.hpp"

namespace sotto::detail {

/// How the learning rate changes while training goes on: `factor(round_info)` is what it is
/// multiplied by, finite and at least 0. `check()`, if there is one, throws invalid_option when the
/// schedule is bound. Schedules nest, `scheduled{scheduled{sgd{...}, linear_scaling{}},
/// cosine{...}}`, and their factors multiply.
template <class S>
concept rate_schedule = requires(const S& schedule, const round_info& where) {
    { schedule.factor(where) } -> std::convertible_to<double>;
};

}  // namespace sotto::detail

namespace sotto {

/// The learning rate stays as it is.
struct constant_rate {
    /// 1, at any time.
    double factor(const round_info&) const noexcept { return 1.0; }
    void describe(auto&&) const {}
};

/// Multiplied by `factor_per_step` after every `every_epochs` epochs.
struct step_decay {
    double every_epochs = 30.0;    // epochs from one change to the next
    double factor_per_step = 0.1;  // what the rate is then multiplied by

    /// What the learning rate is multiplied by there.
    double factor(const round_info& where) const noexcept;
    /// Throws invalid_option: every_epochs not above 0, factor_per_step below 0, or not finite.
    void check() const;
    void describe(auto&& field) const {
        field("every_epochs", every_epochs);
        field("factor_per_step", factor_per_step);
    }
};

/// Half a cosine from 1 down to `final_factor` over `epochs`, and flat from there.
///   source  Loshchilov and Hutter 2017, SGDR, arXiv:1608.03983
struct cosine {
    double epochs = 10.0;       // until it is flat; passes over the data
    double final_factor = 0.0;  // what is left of the rate then

    /// What the learning rate is multiplied by there.
    double factor(const round_info& where) const noexcept;
    /// Throws invalid_option: epochs not above 0, final_factor below 0, or not finite.
    void check() const;
    void describe(auto&& field) const {
        field("epochs", epochs);
        field("final_factor", final_factor);
    }
};

/// Rises linearly from `initial_factor` to 1 over the first `epochs`.
///   source  Goyal et al. 2017, Accurate, large minibatch SGD, arXiv:1706.02677
struct rate_warm_up {
    double epochs = 5.0;          // of the rise; passes over the data
    double initial_factor = 0.1;  // share of the rate at the beginning

    /// What the learning rate is multiplied by there.
    double factor(const round_info& where) const noexcept;
    /// Throws invalid_option: epochs or initial_factor below 0 or not finite.
    void check() const;
    void describe(auto&& field) const {
        field("epochs", epochs);
        field("initial_factor", initial_factor);
    }
};

/// N workers take N times the step: the rate was given for one worker.  (Goyal et al. 2017)
struct linear_scaling {
    /// The number of ranks.
    double factor(const round_info& where) const noexcept { return where.world_size; }
    void describe(auto&&) const {}
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/optimizers/schedules.ipp"
#endif
