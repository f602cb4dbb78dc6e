#pragma once

#include <cstdint>
#include <limits>

#include "sotto/trainer/callback.hpp"

namespace sotto {

/// Ends training when the loss has not improved for a number of epochs: the training loss or, from
/// the first evaluation on, the evaluation's; then epochs without one are not judged. Every `fit`
/// is judged by itself.
class early_stop {
public:
    /// When it is enough.
    struct options {
        std::int64_t patience = 3;       // epochs judged without improvement
        double least_improvement = 0.0;  // of the loss, for it to count
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
