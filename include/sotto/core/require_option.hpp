#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "sotto/core/describe.hpp"
#include "sotto/core/detail/memory/finite.hpp"

namespace sotto::detail {

/// The numbers that an option may have: `allowed::at_least(0.0).below(1.0)`. A real number is also
/// finite, and as a float: kernels compute with floats. So it is at most the largest float, what is
/// above 0 is at least the smallest normal float, and what is below 1 still is as a float.
template <class Number>
class option_range {
    static_assert(std::same_as<Number, double> || std::same_as<Number, std::int64_t>);
    static constexpr bool is_real = std::same_as<Number, double>;
    using float_limits = std::numeric_limits<float>;

public:
    /// All numbers.
    constexpr option_range() noexcept = default;
    /// From this number on, or behind it.
    constexpr option_range(Number low, bool is_included) noexcept
        : low_(low), has_low_(true), includes_low_(is_included) {}

    /// The same up to this number.
    constexpr option_range at_most(Number high) const noexcept { return up_to(high, true); }
    /// The same below this number.
    constexpr option_range below(Number high) const noexcept { return up_to(high, false); }
    /// The same, and this number.
    constexpr option_range or_exactly(Number value) const noexcept {
        option_range made = *this;
        made.also_ = value;
        made.has_also_ = true;
        return made;
    }

    /// The same of numbers that are never floats.
    constexpr option_range as_double() const noexcept {
        option_range made = *this;
        made.as_float_ = false;
        return made;
    }

    /// Whether a number is in the range.
    constexpr bool holds(const Number& value) const noexcept {
        if constexpr (is_real)
            if (!is_finite(value)) return false;
        if (has_also_ && value == also_) return true;
        if constexpr (is_real)
            if (as_float_ && !is_float(value)) return false;
        return (!has_low_ || (includes_low_ ? value >= low_ : is_below(low_, value))) &&
               (!has_high_ || (includes_high_ ? value <= high_ : is_below(value, high_)));
    }

    /// The range in words, for an error about this value: "finite and at least 0".
    std::string text(const Number& refused) const {
        std::string words;
        if (is_real && !(has_low_ && has_high_)) words = "finite";
        add_bound(words, has_low_, includes_low_ ? "at least " : "above ", low_);
        add_bound(words, has_high_, includes_high_ ? "at most " : "below ", high_);
        if (has_also_) {
            words += ", or ";
            detail::append_number(words, also_);
        }
        if constexpr (is_real) {
            if (!is_finite(refused) || !as_float_) return words;
            if (!is_float(refused)) words += ", as a float";
            if (has_low_ && refused > low_ && !is_below(low_, refused)) words += ", as a float";
            if (has_high_ && refused < high_ && !is_below(refused, high_)) words += ", as a float";
        }
        return words;
    }

private:
    constexpr option_range up_to(Number high, bool is_included) const noexcept {
        option_range made = *this;
        made.high_ = high;
        made.has_high_ = true;
        made.includes_high_ = is_included;
        return made;
    }

    static constexpr bool is_float(double value) noexcept {
        return value >= double{float_limits::lowest()} && value <= double{(float_limits::max)()};
    }

    constexpr bool is_below(Number a, Number b) const noexcept {
        if constexpr (is_real) {
            if (!as_float_) return a < b;
            constexpr double least = (float_limits::min)();
            if (a == 0.0) return b >= least;
            if (b == 0.0) return a <= -least;
            return static_cast<float>(a) < static_cast<float>(b);
        } else {
            return a < b;
        }
    }

    static void add_bound(std::string& words, bool has, const char* which, Number bound) {
        if (!has) return;
        if (!words.empty()) words += " and ";
        words += which;
        detail::append_number(words, bound);
    }

    Number low_{}, high_{}, also_{};
    bool has_low_ = false, has_high_ = false, has_also_ = false;
    bool includes_low_ = false, includes_high_ = false;
    bool as_float_ = true;
};

}  // namespace sotto::detail

/// The ranges that options have.
namespace sotto::detail::allowed {

/// From this number on.
constexpr option_range<double> at_least(double low) noexcept {
    return {low, true};
}
/// The same of integers.
constexpr option_range<std::int64_t> at_least(std::integral auto low) noexcept {
    return {static_cast<std::int64_t>(low), true};
}
/// Above this number.
constexpr option_range<double> above(double low) noexcept {
    return {low, false};
}
/// Any number that is finite.
constexpr option_range<double> any_finite() noexcept {
    return {};
}

}  // namespace sotto::detail::allowed

namespace sotto::detail {
[[noreturn]] void refuse_option(std::string_view policy, std::string_view option,
                                const std::string& value, const std::string& expected,
                                std::string_view hint);
}  // namespace sotto::detail

namespace sotto {

/// Throws invalid_option unless the option's value is in the range. The text names the policy, the
/// option, its value and the range, and ends with the hint. NaN is in no range, also in a unit that
/// is compiled with -ffast-math.
void require_option(std::string_view policy, std::string_view option, const double& value,
                    const detail::option_range<double>& range, std::string_view hint = {});

/// The same for a name that takes time to make: option() is called if the value is refused.
template <std::invocable Option>
void require_option(std::string_view policy, Option option, const double& value,
                    const detail::option_range<double>& range) {
    if (!range.holds(value)) [[unlikely]]
        require_option(policy, std::string_view(option()), value, range);
}

/// The same of an integer.
inline void require_option(std::string_view policy, std::string_view option,
                           std::integral auto value,
                           const detail::option_range<std::int64_t>& range,
                           std::string_view hint = {}) {
    // An unsigned number that no std::int64_t holds is above every bound.
    const bool is_held = std::in_range<std::int64_t>(value);
    if (is_held && range.holds(static_cast<std::int64_t>(value))) [[likely]]
        return;
    detail::refuse_option(policy, option, std::to_string(value), range.text(0), hint);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/require_option.ipp"
#endif
