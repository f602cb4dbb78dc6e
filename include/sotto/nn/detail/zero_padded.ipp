#pragma once

#include "sotto/nn/detail/zero_padded.hpp"

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/nn/elementwise.hpp"

namespace sotto::detail::nn {

SOTTO_DECL bool zero_padded::is_the_image() const noexcept {
    return stride == 1 && before == 0 && height == image.height && width == image.width;
}

SOTTO_DECL std::int64_t zero_padded::place(std::int64_t y, std::int64_t x) const noexcept {
    return ((y % stride * stride + x % stride) * height + y / stride) * width + x / stride;
}

SOTTO_DECL void zero_padded::copy(std::span<const float> from, std::span<float> to) const {
    const float* x = from.data();
    for (std::int64_t c = 0; c < image.channels; ++c) {
        float* channel = to.data() + c * stride * stride * height * width;
        if (stride == 1) {
            kernels::copy_rows(x, channel + place(before, before), image.height, image.width,
                               width);
            x += image.plane();
            continue;
        }
        for (std::int64_t row = 0; row < image.height; ++row, x += image.width)
            for (std::int64_t first = 0; first < stride; ++first) {
                float* next = channel + place(row + before, first + before);
                for (std::int64_t i = first; i < image.width; i += stride) *next++ = x[i];
            }
    }
}

}  // namespace sotto::detail::nn
