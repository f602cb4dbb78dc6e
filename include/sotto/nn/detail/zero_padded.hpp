#pragma once

#include <cstdint>
#include <span>

#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {

/// An image with a border of zeros, so that a window may extend over its edges. With a stride,
/// every stride-th row and column form a plane of their own. The values that neighbouring windows
/// read at one offset are then contiguous.
///   shape   image.channels x stride x stride planes of height x width: the pixel at (y, x) of the
///           bordered image is in plane (y % stride, x % stride), at (y / stride, x / stride)
///   cost    one read of the image and one write. The border is never written, so the memory must
///           be zero there
struct zero_padded {
    sotto::nn::shape image;
    std::int64_t stride = 1;
    std::int64_t before = 0;  // rows above and columns left of the image
    std::int64_t height = 0;  // of a plane
    std::int64_t width = 0;

    std::int64_t size() const noexcept { return image.channels * stride * stride * height * width; }

    /// True if the image already has this form.
    bool is_the_image() const noexcept;

    /// Returns the offset of pixel (y, x) of the bordered image in a channel.
    std::int64_t place(std::int64_t y, std::int64_t x) const noexcept;

    void copy(std::span<const float> from, std::span<float> to) const;
};

}  // namespace sotto::detail::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/detail/zero_padded.ipp"
#endif
