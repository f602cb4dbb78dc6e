#pragma once

#include "sotto/strategies/detail/codistillation/teacher_status.hpp"

#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::detail {

SOTTO_DECL const char* name_of(left_out why) noexcept {
    constexpr const char* names[] = {"listened to",
                                     "absent",
                                     "unreadable",
                                     "other architecture",
                                     "data dealt otherwise",
                                     "not finite",
                                     "too old",
                                     "too far ahead",
                                     "worse",
                                     "not its turn"};
    return names[static_cast<int>(why)];
}

SOTTO_DECL void teacher_rules::check() const {
    require_option("teacher_rules", "age_max", age_max, allowed::at_least(-1));
    require_option("teacher_rules", "margin", margin, allowed::at_least(0.0));
}

SOTTO_DECL teacher_rules teacher_rules::of_exchanges(std::int64_t every,
                                                     bool have_finished) const noexcept {
    constexpr std::int64_t intervals = 20;
    const std::int64_t usual =
        have_finished || every > INT64_MAX / intervals ? 0 : intervals * every;
    return {.age_max = age_max == -1 ? usual : age_max, .margin = margin};
}

SOTTO_DECL void recent_mean::add(double value) noexcept {
    share_ = share_ * keeps + (1.0 - keeps);
    sum_ = sum_ * keeps + (1.0 - keeps) * value;
}

SOTTO_DECL double recent_mean::value() const noexcept {
    return empty() ? std::numeric_limits<double>::quiet_NaN() : sum_ / share_;
}

}  // namespace sotto::detail
