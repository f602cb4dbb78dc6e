#pragma once

#include "sotto/report/detail/charts/report_axis.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/logging/detail/report_text.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL bool axis::shows(double value) const noexcept {
    return is_finite(value) && (!logarithmic || value > 0.0);
}

SOTTO_DECL double axis::place(double value) const noexcept {
    const double a = on_scale(low), b = on_scale(high);
    return b > a ? std::clamp((on_scale(value) - a) / (b - a), 0.0, 1.0) : 0.5;
}

SOTTO_DECL double axis::on_scale(double value) const noexcept {
    return logarithmic ? std::log((std::max)(value, 1e-300)) : value;
}

SOTTO_DECL double round_step(double length, int most) noexcept {
    const double least = length / most;
    const double power = std::pow(10.0, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least * (1.0 - 1e-9)) return factor * power;
    return 10.0 * power;
}

SOTTO_DECL axis linear_axis(double low, double high, std::function<std::string(double)> label,
                            double least_step) {
    if (!(low <= high)) low = 0.0, high = 1.0;
    low = std::clamp(low, -longest_drawn, longest_drawn);
    high = std::clamp(high, -longest_drawn, longest_drawn);
    if (!(high - low > 1e-12 * (std::max)({std::abs(low), std::abs(high), shortest_drawn}))) {
        const double room = std::abs(low) < shortest_drawn ? 1.0 : 0.1 * std::abs(low);
        low -= room, high += room;
    }
    const double step = (std::max)(round_step(high - low, 5), least_step);
    axis a;
    const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
    for (double k = first; k <= last + 0.5; k += 1.0) a.ticks.push_back(k * step);
    a.low = a.ticks.front();
    a.high = a.ticks.back();
    const int places = (std::max)(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
    a.label = label ? std::move(label) : [places](double v) {
        return std::abs(v) >= 10000.0 ? counted(v) : fixed(v, (std::min)(places, 9));
    };
    return a;
}

SOTTO_DECL axis axis_from_zero(double high, std::function<std::string(double)> label,
                               double least_step) {
    high = high > shortest_drawn ? (std::min)(high, longest_drawn) : 1.0;
    axis a = linear_axis(0.0, high, std::move(label), least_step);
    a.high = high;
    while (a.ticks.size() > 1 && a.ticks.back() > high * (1.0 + 1e-9)) a.ticks.pop_back();
    return a;
}

SOTTO_DECL axis counting_axis(double high) {
    return axis_from_zero(high, counted, 1.0);
}

SOTTO_DECL axis share_axis(double low, double high) {
    low = std::clamp(low, 0.0, 1.0);
    high = std::clamp(high, low, 1.0);
    if (high - low < 1e-6) low = (std::max)(low - 0.01, 0.0), high = (std::min)(high + 0.01, 1.0);
    axis a = linear_axis(low, high);
    a.low = (std::max)(a.low, 0.0);
    a.high = (std::min)(a.high, 1.0);
    std::erase_if(a.ticks, [](double tick) { return tick < -1e-9 || tick > 1.0 + 1e-9; });
    const double step = 100.0 * (a.ticks.size() > 1 ? a.ticks[1] - a.ticks[0] : 1.0);
    const int places = (std::max)(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
    a.label = [places](double share) { return percent(share, places); };
    return a;
}

SOTTO_DECL axis log_axis(double low, double high, double base,
                         std::function<std::string(double)> label, double most) {
    axis a{.logarithmic = true, .label = std::move(label)};
    a.low = std::clamp(low, 1.0 / longest_drawn, longest_drawn);
    a.high = (std::max)((std::min)(high, longest_drawn), 1.05 * a.low);
    const double first = std::floor(std::log(a.low) / std::log(base) + 1e-9);
    const double last = std::ceil(std::log(a.high) / std::log(base) - 1e-9);
    const auto add = [&a](double tick) {
        if (tick >= a.low * (1.0 - 1e-9) && tick <= a.high * (1.0 + 1e-9)) a.ticks.push_back(tick);
    };
    const double every = (std::max)(1.0, std::ceil((last - first) / most));
    for (double k = std::floor(first / every) * every; k <= last; k += every)
        add(std::pow(base, k));
    if (a.ticks.size() < 3 && base == 10.0) {  // too few powers: adds ticks at 2 and 5
        a.ticks.clear();
        for (double k = first; k <= last; k += 1.0)
            for (const double factor : {1.0, 2.0, 5.0}) add(factor * std::pow(10.0, k));
    }
    if (a.ticks.size() < 2) a.ticks = {a.low, a.high};
    return a;
}

}  // namespace sotto::detail::reporting
