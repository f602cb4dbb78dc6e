#pragma once

#include <cstdint>
#include <limits>

#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/require_option.hpp"
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
    explicit early_stop(options chosen) : options_(chosen) {
        require_option("early_stop", "patience", chosen.patience, detail::allowed::at_least(1));
        require_option("early_stop", "least_improvement", chosen.least_improvement,
                       detail::allowed::at_least(0.0));
    }

    void on_begin(const run_info&) noexcept {
        begin_anew();
        evaluates_ = false;
    }

    verdict on_epoch(const epoch_report& report) noexcept {
        if (report.evaluated && !evaluates_) {
            begin_anew();
            evaluates_ = true;
        }
        if (evaluates_ && !report.evaluated) return verdict::go_on;
        const double loss = evaluates_ ? report.evaluated->loss : report.loss;
        // No loss is the first; one that is not finite is no improvement.
        const bool is_first = detail::is_infinite(best_);
        if (detail::is_finite(loss) && (is_first || loss < best_ - options_.least_improvement)) {
            best_ = loss;
            waited_ = 0;
            return verdict::go_on;
        }
        return ++waited_ < options_.patience ? verdict::go_on : verdict::stop;
    }

private:
    void begin_anew() noexcept {
        best_ = std::numeric_limits<double>::infinity();
        waited_ = 0;
    }

    options options_{};
    double best_ = std::numeric_limits<double>::infinity();
    std::int64_t waited_ = 0;
    bool evaluates_ = false;
};

}  // namespace sotto
