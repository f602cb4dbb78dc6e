#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "sotto/core/errors.hpp"

namespace sotto::nn {

/// One example between two layers: planes of rows of floats. A plain vector is `shape{n}`, n planes
/// of 1 x 1.
struct shape {
    std::int64_t channels = 1;  // planes
    std::int64_t height = 1;    // rows of a plane
    std::int64_t width = 1;     // floats of a row

    /// Floats of an example.
    constexpr std::int64_t size() const noexcept { return channels * height * width; }
    /// Floats of a plane.
    constexpr std::int64_t plane() const noexcept { return height * width; }

    friend constexpr bool operator==(const shape&, const shape&) = default;
};

/// "channels x height x width", for messages.
inline std::string to_string(const shape& s) {
    return std::to_string(s.channels) + " x " + std::to_string(s.height) + " x " +
           std::to_string(s.width);
}

/// How many examples of this shape lie one after another in `values`.
inline std::int64_t examples_in(std::span<const float> values, const shape& each) noexcept {
    return static_cast<std::int64_t>(values.size()) / each.size();
}

/// Throws invalid_option unless least <= value <= 2^31 - 1, the longest side of a matrix that BLAS
/// takes.
inline void check_option(std::string_view where, std::string_view option, std::int64_t value,
                         std::int64_t least = 1) {
    constexpr std::int64_t most = (std::numeric_limits<std::int32_t>::max)();
    if (value < least || value > most)
        throw invalid_option(std::string(where) + ": " + std::string(option) + " is " +
                             std::to_string(value) + "; expected " + std::to_string(least) +
                             " to " + std::to_string(most));
}

/// Throws invalid_option for a shape without elements or with more than 2^31 - 1.
inline void check_shape(std::string_view where, const shape& s) {
    check_option(where, "channels", s.channels);
    check_option(where, "height", s.height);
    check_option(where, "width", s.width);
    check_option(where, "height x width", s.plane());  // below 2^62: cannot overflow
    check_option(where, "channels x height x width", s.size());
}

}  // namespace sotto::nn

namespace sotto::detail::nn {

/// One side of a window that slides over an image; `name` is the option that says how long it is.
struct sliding_window {
    const char* name = "window";  // the option's name
    std::int64_t size = 1;        // length along the side
    std::int64_t stride = 1;      // from one place to the next
    std::int64_t padding = 0;     // zeros on each end of the side
};

}  // namespace sotto::detail::nn

namespace sotto::nn {

/// How often a window fits along one side.
///   math    floor((side + 2 padding - size) / stride) + 1
///   errors  invalid_option: size or stride below 1, padding below 0 or not below the size (nothing
///           but padding would be seen), a size longer than the padded side
inline std::int64_t window_positions(std::string_view where, std::int64_t side,
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
