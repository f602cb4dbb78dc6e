#pragma once

#include <cstdint>
#include <span>

#include "sotto/nn/detail/rows.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {

/// The patches of an image that a convolution's filters see, as the columns of a matrix.
///   shape   length() rows, one for each (channel, row, column) inside the window; height x width
///           columns, one for each place of the window
///   cost    one write (extract) or one read and one add (add) of the matrix, by whole rows of the
///           image
struct im2col {
    sotto::nn::shape input;
    std::int64_t height = 0;  // places of the window
    std::int64_t width = 0;
    std::int64_t window = 1;
    std::int64_t stride = 1;
    std::int64_t padding = 0;

    std::int64_t length() const noexcept { return input.channels * window * window; }
    bool are_the_image() const noexcept { return window == 1 && stride == 1 && padding == 0; }

    void extract(std::span<const float> image, std::span<float> columns) const;

    /// The transpose of extract: every element goes back to the pixel it came from, sums where
    /// patches overlap.
    void add(std::span<const float> columns, std::span<float> image) const;

private:
    // Of the places along one side, how many lie before the image and how many inside it.
    struct run {
        std::int64_t before, inside;
    };

    template <class T>
    block_of<T> inside(T* plane, run rows, run places) const noexcept {
        return {plane + rows.before * width + places.before, width, 1};
    }

    // Which places p have 0 <= p * stride + shift - padding < side.
    run within(std::int64_t shift, std::int64_t side, std::int64_t places) const noexcept;

    // Calls see(pixel, rows, places) for each (channel, row, column) inside the window: which
    // places of the window are inside the image there, and the pixel that the first of them sees.
    void each_offset(auto&& see) const {
        for (std::int64_t c = 0; c < input.channels; ++c)
            for (std::int64_t i = 0; i < window; ++i) {
                const run rows = within(i, input.height, height);
                const std::int64_t y = c * input.height + rows.before * stride + i - padding;
                for (std::int64_t j = 0; j < window; ++j) {
                    const run places = within(j, input.width, width);
                    see(y * input.width + places.before * stride + j - padding, rows, places);
                }
            }
    }
};

}  // namespace sotto::detail::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/detail/im2col.ipp"
#endif
