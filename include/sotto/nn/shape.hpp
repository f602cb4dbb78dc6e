#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sotto/core/config.hpp"

namespace sotto::nn {

/// The shape of one example between two layers: planes of rows of floats. A plain vector is
/// `shape{n}`, n planes of 1 x 1.
struct shape {
    std::int64_t channels = 1;  // planes
    std::int64_t height = 1;    // rows per plane
    std::int64_t width = 1;     // floats per row

    /// Floats per example.
    constexpr std::int64_t size() const noexcept { return channels * height * width; }
    /// Floats per plane.
    constexpr std::int64_t plane() const noexcept { return height * width; }

    friend constexpr bool operator==(const shape&, const shape&) = default;
};

/// Returns "channels x height x width", for messages.
std::string to_string(const shape& s);

/// Returns the number of examples of this shape in `values`.
std::int64_t examples_in(std::span<const float> values, const shape& each) noexcept;

/// Throws invalid_option unless least <= value <= 2^31 - 1, the longest matrix side in BLAS.
void check_option(std::string_view where, std::string_view option, std::int64_t value,
                  std::int64_t least = 1);

/// Throws invalid_option for a shape without elements or with more than 2^31 - 1.
void check_shape(std::string_view where, const shape& s);

}  // namespace sotto::nn

namespace sotto::detail::nn {

/// One side of a window that slides over an image. `name` is the option with its length.
struct sliding_window {
    const char* name = "window";  // name of the option
    std::int64_t size = 1;        // length along the side
    std::int64_t stride = 1;      // distance between positions
    std::int64_t padding = 0;     // zeros on each end of the side
};

}  // namespace sotto::detail::nn

namespace sotto::nn {

/// Returns the number of window positions along one side.
///   math    floor((side + 2 padding - size) / stride) + 1
///   errors  invalid_option: size or stride below 1, padding below 0 or not below the size (a
///           window could contain only padding), a size longer than the padded side
std::int64_t window_positions(std::string_view where, std::int64_t side,
                              const detail::nn::sliding_window& window);

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/shape.ipp"
#endif
