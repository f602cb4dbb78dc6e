#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sotto::detail::reporting {

/// One direction of a chart: which values it shows, where they lie and which get a tick. It is made
/// by one of the functions below, which round its ends or its ticks.
struct axis {
    double low = 0.0, high = 1.0;  // its ends
    bool logarithmic = false;      // else it is linear
    std::vector<double> ticks{};   // values, ascending
    /// What stands at a tick.
    std::function<std::string(double)> label{};

    /// Whether a value can lie on it.
    bool shows(double value) const noexcept;

    /// 0 at the low end, 1 at the high one, and there for what lies beyond.
    double place(double value) const noexcept;

private:
    double on_scale(double value) const noexcept;
};

/// Numbers come from files: ends further out are drawn at these, so that no sum, ratio or power of
/// ten below leaves the doubles.
inline constexpr double longest_drawn = 1e300, shortest_drawn = 1e-280;  // values

/// 1, 2 or 5 times a power of ten: the smallest such step of which at most `most` span the length.
double round_step(double length, int most) noexcept;

/// From a round number to a round number, with 3 to 6 ticks; fewer where those would lie closer
/// together than `least_step`.
axis linear_axis(double low, double high, std::function<std::string(double)> label = {},
                 double least_step = 0.0);

/// From zero, so that lengths can be compared; the high end is not rounded up, but ticks are round.
axis axis_from_zero(double high, std::function<std::string(double)> label = {},
                    double least_step = 0.0);

/// The same for whole numbers.
axis counting_axis(double high);

/// Shares, from none to all: around what is shown, with as many digits as tell ticks apart.
axis share_axis(double low, double high);

/// Ticks at powers of `base`, thinned to `most` steps between them; every value must be above zero.
axis log_axis(double low, double high, double base, std::function<std::string(double)> label,
              double most = 5.0);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/charts/report_axis.ipp"
#endif
