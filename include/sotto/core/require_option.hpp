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

/// Numbers that an option accepts, such as `allowed::at_least(0.0).below(1.0)`. Kernels compute
/// with floats, so a real number must be finite and at most the largest float. It must also keep
/// its bounds as a float: "above 0" means at least the smallest normal float, and "below 1" means
/// below 1 after rounding.
template <class Number>
class option_range {
    static_assert(std::same_as<Number, double> || std::same_as<Number, std::int64_t>);
    static constexpr bool is_real = std::same_as<Number, double>;
    using float_limits = std::numeric_limits<float>;

public:
    /// Accepts all numbers.
    constexpr option_range() noexcept = default;
    /// Accepts numbers above `low`, and `low` itself if `is_included`.
    constexpr option_range(Number low, bool is_included) noexcept
        : low_(low), has_low_(true), includes_low_(is_included) {}

    /// Returns this range, limited to numbers up to `high`.
    constexpr option_range at_most(Number high) const noexcept { return up_to(high, true); }
    /// Returns this range, limited to numbers below `high`.
    constexpr option_range below(Number high) const noexcept { return up_to(high, false); }
    /// Returns this range, extended by one number.
    constexpr option_range or_exactly(Number value) const noexcept {
        option_range made = *this;
        made.also_ = value;
        made.has_also_ = true;
        return made;
    }

    /// Returns this range for numbers that no kernel converts to a float.
    constexpr option_range as_double() const noexcept {
        option_range made = *this;
        made.as_float_ = false;
        return made;
    }

    /// True if a number is in the range.
    constexpr bool holds(const Number& value) const noexcept {
        if constexpr (is_real)
            if (!is_finite(value)) return false;
        if (has_also_ && value == also_) return true;
        if constexpr (is_real)
            if (as_float_ && !is_float(value)) return false;
        return (!has_low_ || (includes_low_ ? value >= low_ : is_below(low_, value))) &&
               (!has_high_ || (includes_high_ ? value <= high_ : is_below(value, high_)));
    }

    /// Returns the range in words, for an error about this value: "finite and at least 0".
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

/// Ranges of options.
namespace sotto::detail::allowed {

/// Accepts `low` and all numbers above it.
constexpr option_range<double> at_least(double low) noexcept {
    return {low, true};
}
/// Same for integers.
constexpr option_range<std::int64_t> at_least(std::integral auto low) noexcept {
    return {static_cast<std::int64_t>(low), true};
}
/// Accepts numbers above `low`.
constexpr option_range<double> above(double low) noexcept {
    return {low, false};
}
/// Accepts any finite number.
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
/// option, its value and the range, and ends with the hint. NaN is in no range, even in a unit that
/// is compiled with -ffast-math.
void require_option(std::string_view policy, std::string_view option, const double& value,
                    const detail::option_range<double>& range, std::string_view hint = {});

/// Same for a name that takes time to make: calls option() only if the value is refused.
template <std::invocable Option>
void require_option(std::string_view policy, Option option, const double& value,
                    const detail::option_range<double>& range) {
    if (!range.holds(value)) [[unlikely]]
        require_option(policy, std::string_view(option()), value, range);
}

/// Same for an integer.
inline void require_option(std::string_view policy, std::string_view option,
                           std::integral auto value,
                           const detail::option_range<std::int64_t>& range,
                           std::string_view hint = {}) {
    // An unsigned number that does not fit std::int64_t is above every bound.
    const bool is_held = std::in_range<std::int64_t>(value);
    if (is_held && range.holds(static_cast<std::int64_t>(value))) [[likely]]
        return;
    detail::refuse_option(policy, option, std::to_string(value), range.text(0), hint);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/require_option.ipp"
#endif
