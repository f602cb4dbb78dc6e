#pragma once

#include "sotto/core/require_option.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail {

SOTTO_DECL void refuse_option(std::string_view policy, std::string_view option,
                              const std::string& value, const std::string& expected,
                              std::string_view hint) {
    std::string text(policy);
    text.append(": ").append(option).append(" is ").append(value);
    text.append("; it must be ").append(expected).append(hint);
    throw invalid_option(text);
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL void require_option(std::string_view policy, std::string_view option,
                               const double& value, const detail::option_range<double>& range,
                               std::string_view hint) {
    if (range.holds(value)) [[likely]]
        return;
    std::string shown;
    if (detail::is_nan(value))
        shown = "nan";
    else
        detail::append_number(shown, value);
    detail::refuse_option(policy, option, shown, range.text(value), hint);
}

}  // namespace sotto
