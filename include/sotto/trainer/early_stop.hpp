#pragma once

#include <cstdint>
#include <limits>

#include "sotto/trainer/callback.hpp"

namespace sotto {

/// Stops training when the loss has not improved for a number of epochs. It uses the training loss.
/// From the first evaluation on it uses the evaluation's loss, and ignores epochs without an
/// evaluation. Every `fit` starts again.
class early_stop {
public:
    /// Selects when to stop.
    struct options {
        std::int64_t patience = 3;       // epochs without improvement before it stops
        double least_improvement = 0.0;  // least decrease of the loss that counts
    };

    early_stop() = default;
    /// Throws invalid_option: patience below 1, least_improvement below 0.
    explicit early_stop(options chosen);

    void on_begin(const run_info&) noexcept;

    fit_control on_epoch(const epoch_report& report) noexcept;

private:
    void begin_anew() noexcept;

    options options_{};
    double best_ = std::numeric_limits<double>::infinity();
    std::int64_t waited_ = 0;
    bool evaluates_ = false;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/early_stop.ipp"
#endif
