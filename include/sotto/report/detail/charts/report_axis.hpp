#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sotto::detail::reporting {

/// One axis of a chart: its range, scale and ticks. The functions below create one and round its
/// ends or its ticks.
struct axis {
    double low = 0.0, high = 1.0;  // its ends
    bool logarithmic = false;      // false: linear
    std::vector<double> ticks{};   // values of ticks, ascending
    /// Returns the text at a tick.
    std::function<std::string(double)> label{};

    /// True if the axis can show the value.
    bool shows(double value) const noexcept;

    /// Returns 0 at the low end, 1 at the high end, clamped between them.
    double place(double value) const noexcept;

private:
    double on_scale(double value) const noexcept;
};

/// Values come from files, so ends are clamped to these limits. Sums, ratios and powers of ten then
/// stay within the doubles.
inline constexpr double longest_drawn = 1e300, shortest_drawn = 1e-280;  // values

/// Returns 1, 2 or 5 times a power of ten: the smallest such step that fits into `length` at most
/// `most` times.
double round_step(double length, int most) noexcept;

/// From a round number to a round number, with 3 to 6 ticks; fewer if they would be closer than
/// `least_step`.
axis linear_axis(double low, double high, std::function<std::string(double)> label = {},
                 double least_step = 0.0);

/// From zero, so that lengths are comparable. The high end is not rounded, but ticks are.
axis axis_from_zero(double high, std::function<std::string(double)> label = {},
                    double least_step = 0.0);

/// The same for whole numbers.
axis counting_axis(double high);

/// Shares from 0 to 1: around the shown values, with enough digits to distinguish ticks.
axis share_axis(double low, double high);

/// Ticks at powers of `base`, thinned to at most `most` steps between them; every value must be
/// above zero.
axis log_axis(double low, double high, double base, std::function<std::string(double)> label,
              double most = 5.0);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/charts/report_axis.ipp"
#endif
