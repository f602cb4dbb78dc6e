#pragma once

#include "sotto/nn/shape.hpp"

#include <limits>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::nn {

SOTTO_DECL std::string to_string(const shape& s) {
    return std::to_string(s.channels) + " x " + std::to_string(s.height) + " x " +
           std::to_string(s.width);
}

SOTTO_DECL std::int64_t examples_in(std::span<const float> values, const shape& each) noexcept {
    return static_cast<std::int64_t>(values.size()) / each.size();
}

SOTTO_DECL void check_option(std::string_view where, std::string_view option, std::int64_t value,
                             std::int64_t least) {
    constexpr std::int64_t most = (std::numeric_limits<std::int32_t>::max)();
    if (value < least || value > most)
        throw invalid_option(std::string(where) + ": " + std::string(option) + " is " +
                             std::to_string(value) + "; expected " + std::to_string(least) +
                             " to " + std::to_string(most));
}

SOTTO_DECL void check_shape(std::string_view where, const shape& s) {
    check_option(where, "channels", s.channels);
    check_option(where, "height", s.height);
    check_option(where, "width", s.width);
    check_option(where, "height x width", s.plane());  // below 2^62: cannot overflow
    check_option(where, "channels x height x width", s.size());
}

SOTTO_DECL std::int64_t window_positions(std::string_view where, std::int64_t side,
                                         const detail::nn::sliding_window& window) {
    check_option(where, window.name, window.size);
    check_option(where, "stride", window.stride);
    check_option(where, "padding", window.padding, 0);
    if (window.padding >= window.size)
        throw invalid_option(std::string(where) + ": padding is " + std::to_string(window.padding) +
                             "; expected less than the " + window.name + ", " +
                             std::to_string(window.size));
    const std::int64_t padded = side + 2 * window.padding;
    if (window.size > padded)
        throw invalid_option(
            std::string(where) + ": " + window.name + " is " + std::to_string(window.size) +
            "; expected at most the padded input's side, " + std::to_string(padded));
    return (padded - window.size) / window.stride + 1;
}

}  // namespace sotto::nn
