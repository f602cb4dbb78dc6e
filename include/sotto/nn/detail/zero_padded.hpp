#pragma once

#include <cstdint>
#include <span>

#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {

/// An image with a border of zeros, so that a window may slide over its edges. With a stride, every
/// stride-th row and column make a plane of their own: what neighbouring windows see at one offset
/// then lies side by side.
///   shape   image.channels x stride x stride planes of height x width: the pixel at (y, x) of the
///           bordered image is in plane (y % stride, x % stride), at (y / stride, x / stride)
///   cost    one read of the image and one write. The border is never written: it stays as zero as
///           the memory was
struct zero_padded {
    sotto::nn::shape image;
    std::int64_t stride = 1;
    std::int64_t before = 0;  // rows above and columns left of the image
    std::int64_t height = 0;  // of a plane
    std::int64_t width = 0;

    std::int64_t size() const noexcept { return image.channels * stride * stride * height * width; }

    /// Nothing to do: the image has this form already.
    bool is_the_image() const noexcept;

    /// Where the pixel (y, x) of the bordered image lies in a channel.
    std::int64_t place(std::int64_t y, std::int64_t x) const noexcept;

    void copy(std::span<const float> from, std::span<float> to) const;
};

}  // namespace sotto::detail::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/detail/zero_padded.ipp"
#endif
