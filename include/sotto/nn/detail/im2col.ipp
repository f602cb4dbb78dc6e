#pragma once

#include "sotto/nn/detail/im2col.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail::nn {

SOTTO_DECL void im2col::extract(std::span<const float> image, std::span<float> columns) const {
    float* to = columns.data();
    each_offset([&](std::int64_t pixel, run rows, run places) {
        if (rows.inside * places.inside < height * width) std::fill_n(to, height * width, 0.0f);
        const block_of<const float> from{image.data() + pixel, stride * input.width, stride};
        copy_block(from, inside(to, rows, places), rows.inside, places.inside);
        to += height * width;
    });
}

SOTTO_DECL void im2col::add(std::span<const float> columns, std::span<float> image) const {
    std::fill(image.begin(), image.end(), 0.0f);
    const float* from = columns.data();
    each_offset([&](std::int64_t pixel, run rows, run places) {
        const block_of<float> to{image.data() + pixel, stride * input.width, stride};
        add_block(inside(from, rows, places), to, rows.inside, places.inside);
        from += height * width;
    });
}

SOTTO_DECL im2col::run im2col::within(std::int64_t shift, std::int64_t side,
                                      std::int64_t places) const noexcept {
    const auto strides = [this](std::int64_t n) {  // rounded up; a division costs 5 ns
        return stride == 1 ? n : (n + stride - 1) / stride;
    };
    const std::int64_t lead = std::max<std::int64_t>(0, padding - shift);
    const std::int64_t before = (std::min)(places, strides(lead));
    const std::int64_t room = std::max<std::int64_t>(0, side + padding - shift);
    return {before, std::clamp(strides(room), before, places) - before};
}

}  // namespace sotto::detail::nn
