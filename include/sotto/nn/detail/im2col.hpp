#pragma once

#include <cstdint>
#include <span>

#include "sotto/nn/detail/rows.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {

/// The patches of an image that a convolution's filters read, as the columns of a matrix.
///   shape   length() rows, one for each (channel, row, column) inside the window; height x width
///           columns, one for each window position
///   cost    one write (extract) or one read and one add (add) of the matrix, by whole rows of the
///           image
struct im2col {
    sotto::nn::shape input;
    std::int64_t height = 0;  // window positions
    std::int64_t width = 0;
    std::int64_t window = 1;
    std::int64_t stride = 1;
    std::int64_t padding = 0;

    std::int64_t length() const noexcept { return input.channels * window * window; }
    bool are_the_image() const noexcept { return window == 1 && stride == 1 && padding == 0; }

    void extract(std::span<const float> image, std::span<float> columns) const;

    /// The transpose of extract: adds each element to the pixel it was read from, so overlapping
    /// patches sum.
    void add(std::span<const float> columns, std::span<float> image) const;

private:
    // Numbers of positions before the image and inside it along one side.
    struct run {
        std::int64_t before, inside;
    };

    template <class T>
    block_of<T> inside(T* plane, run rows, run places) const noexcept {
        return {plane + rows.before * width + places.before, width, 1};
    }

    // Returns the run of positions p with 0 <= p * stride + shift - padding < side.
    run within(std::int64_t shift, std::int64_t side, std::int64_t places) const noexcept;

    // Calls see(pixel, rows, places) for each (channel, row, column) of the window: the window
    // positions that are inside the image there, and the pixel of the first of them.
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
