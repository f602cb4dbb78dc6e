#pragma once

#include "sotto/trainer/early_stop.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL early_stop::early_stop(options chosen) : options_(chosen) {
    require_option("early_stop", "patience", chosen.patience, detail::allowed::at_least(1));
    require_option("early_stop", "least_improvement", chosen.least_improvement,
                   detail::allowed::at_least(0.0));
}

SOTTO_DECL void early_stop::on_begin(const run_info&) noexcept {
    begin_anew();
    evaluates_ = false;
}

SOTTO_DECL fit_control early_stop::on_epoch(const epoch_report& report) noexcept {
    if (report.evaluated && !evaluates_) {
        begin_anew();
        evaluates_ = true;
    }
    if (evaluates_ && !report.evaluated) return fit_control::keep_going;
    const double loss = evaluates_ ? report.evaluated->loss : report.loss;
    // Any finite loss improves on the initial infinity; a loss that is not finite never does.
    const bool is_first = detail::is_infinite(best_);
    if (detail::is_finite(loss) && (is_first || loss < best_ - options_.least_improvement)) {
        best_ = loss;
        waited_ = 0;
        return fit_control::keep_going;
    }
    return ++waited_ < options_.patience ? fit_control::keep_going : fit_control::stop;
}

SOTTO_DECL void early_stop::begin_anew() noexcept {
    best_ = std::numeric_limits<double>::infinity();
    waited_ = 0;
}

}  // namespace sotto
