#pragma once

#include "sotto/nn/detail/direct_convolution.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail::nn {

SOTTO_DECL bool sliding::is_small() const noexcept {
    const auto elements = [this](const sotto::nn::shape& s) {
        const std::int64_t border = 2 * (kernel + stride) + 8;
        return static_cast<double>(s.channels) * static_cast<double>(s.height + border) *
               static_cast<double>(s.width + border);
    };
    const double weights = static_cast<double>(output.channels * input.channels) *
                           static_cast<double>(kernel * kernel);
    return elements(input) < 0x1p31 && elements(output) < 0x1p31 && weights < 0x1p31;
}

SOTTO_DECL direct_convolution::direct_convolution(const sliding& s) : sliding_(s) {
    const auto side = [&](std::int64_t image) {
        return (image + 2 * s.padding + s.stride - 1) / s.stride;
    };
    padded_ = {s.input, s.stride, s.padding, side(s.input.height), side(s.input.width)};
    const std::int64_t channel = padded_.size() / s.input.channels;
    for (std::int64_t c = 0; c < s.input.channels; ++c)
        for (std::int64_t i = 0; i < s.kernel; ++i)
            for (std::int64_t j = 0; j < s.kernel; ++j)
                shifts_.push_back(static_cast<std::int32_t>(c * channel + padded_.place(i, j)));
    for (std::int64_t y = 0; y < s.output.height; ++y)
        for (std::int64_t x = 0; x < s.output.width; x += 8)
            places_.push_back(static_cast<std::int32_t>(y * padded_.width + x));
}

SOTTO_DECL void direct_convolution::forward(std::span<const float> weights,
                                            std::span<const float> bias, std::span<const float> in,
                                            std::span<float> out) {
    const std::int64_t rows = sliding_.output.channels;
    const std::int64_t depth = static_cast<std::int64_t>(shifts_.size());
    const std::span<float> packed = packed_.take(kernels::packed_size(rows, depth));
    for (std::int64_t r = 0; r < rows; ++r) {
        float* to = packed.data() + r / kernels::packed_rows * kernels::packed_rows * depth +
                    r % kernels::packed_rows;
        for (std::int64_t k = 0; k < depth; ++k)
            to[k * kernels::packed_rows] = weights[static_cast<std::size_t>(r * depth + k)];
    }
    const std::span<float> start = start_.take(kernels::packed_size(rows, 1));
    std::copy(bias.begin(), bias.end(), start.begin());
    for (std::int64_t n = 0; n < examples_in(in, sliding_.input); ++n)
        kernels::multiply_shifted(planes_of(in, n, 1), packed.data(), start.data(),
                                  out.data() + n * sliding_.output.size(), rows);
}

SOTTO_DECL void direct_convolution::add_weight_gradient(std::span<const float> in,
                                                        std::span<const float> out_gradient,
                                                        std::span<float> gradient) {
    const std::int64_t batch = examples_in(in, sliding_.input);
    for (std::int64_t n = 0; n < batch; n += together()) {
        const std::int64_t images = (std::min)(together(), batch - n);
        const kernels::shifted_planes x = planes_of(in, n, images);
        kernels::correlate_shifted(x, {images, padded_.size(), sliding_.output.size()},
                                   out_gradient.data() + n * sliding_.output.size(),
                                   sliding_.output.channels, gradient.data());
    }
}

SOTTO_DECL std::int64_t direct_convolution::together() const noexcept {
    return std::max<std::int64_t>(
        1, (std::min)(2048 / sliding_.output.plane(), (1 << 17) / padded_.size()));
}

SOTTO_DECL kernels::shifted_planes direct_convolution::planes_of(std::span<const float> in,
                                                                 std::int64_t first,
                                                                 std::int64_t images) {
    const float* from = in.data() + first * sliding_.input.size();
    if (!padded_.is_the_image()) {
        const std::span<float> copies = copies_.take(together() * padded_.size());
        for (std::int64_t n = 0; n < images; ++n)
            padded_.copy(
                {from + n * sliding_.input.size(), static_cast<std::size_t>(sliding_.input.size())},
                copies.subspan(static_cast<std::size_t>(n * padded_.size())));
        from = copies.data();
    }
    return {from,
            shifts_.data(),
            static_cast<std::int64_t>(shifts_.size()),
            places_.data(),
            static_cast<std::int64_t>(places_.size()),
            sliding_.output.width % 16 == 0};
}

SOTTO_DECL bool direct_convolution_back::fits(const sliding& s) noexcept {
    const std::int64_t width = s.input.width / s.stride;
    return s.input.width % s.stride == 0 && s.input.height % s.stride == 0 &&
           2 * whole_octets(width) <= 3 * width && s.is_small();
}

SOTTO_DECL direct_convolution_back::direct_convolution_back(const sliding& s) : sliding_(s) {
    // Let k = (a + padding - i) / stride. If k is a whole number, the output q + k reads the pixel
    // stride q + a through filter row i.
    const std::int64_t before = (s.kernel - 1 - s.padding) / s.stride;
    const std::int64_t after = (s.stride - 1 + s.padding) / s.stride;
    height_ = s.input.height / s.stride;
    width_ = s.input.width / s.stride;
    row_ = whole_octets(width_);
    padded_ = {s.output, 1, before, before + (std::max)(s.output.height, height_ + after),
               before + (std::max)(s.output.width, row_ + after)};
    const auto reach = [&](std::int64_t a, std::int64_t i) { return a + s.padding - i; };
    const std::int64_t plane = padded_.height * padded_.width;
    for (std::int64_t a = 0; a < s.stride; ++a)
        for (std::int64_t b = 0; b < s.stride; ++b) {
            taps_first_.push_back(shifts_.size());
            for (std::int64_t o = 0; o < s.output.channels; ++o)
                for (std::int64_t i = 0; i < s.kernel; ++i)
                    for (std::int64_t j = 0; j < s.kernel; ++j) {
                        if (reach(a, i) % s.stride != 0 || reach(b, j) % s.stride != 0) continue;
                        const std::int64_t y = before + reach(a, i) / s.stride,
                                           x = before + reach(b, j) / s.stride;
                        shifts_.push_back(
                            static_cast<std::int32_t>(o * plane + y * padded_.width + x));
                        taps_.push_back(static_cast<std::int32_t>(
                            (o * s.input.channels * s.kernel + i) * s.kernel + j));
                    }
        }
    taps_first_.push_back(shifts_.size());
    for (std::int64_t y = 0; y < height_; ++y)
        for (std::int64_t x = 0; x < row_; x += 8)
            places_.push_back(static_cast<std::int32_t>(y * padded_.width + x));
}

SOTTO_DECL void direct_convolution_back::backward(std::span<const float> weights,
                                                  std::span<const float> out_gradient,
                                                  std::span<float> in_gradient) {
    const std::span<const float> packed = pack(weights);
    const std::int64_t rows = sliding_.input.channels;
    const std::span<const float> start = start_.take(kernels::packed_size(rows, 1));
    for (std::int64_t n = 0; n < examples_in(out_gradient, sliding_.output); ++n) {
        const float* from = out_gradient.data() + n * sliding_.output.size();
        if (!padded_.is_the_image()) {
            const std::span<float> copy = copy_.take(padded_.size());
            padded_.copy({from, static_cast<std::size_t>(sliding_.output.size())}, copy);
            from = copy.data();
        }
        float* to = in_gradient.data() + n * sliding_.input.size();
        for (std::size_t part = 0; part + 1 < taps_first_.size(); ++part) {
            const std::size_t first = taps_first_[part];
            const auto depth = static_cast<std::int64_t>(taps_first_[part + 1] - first);
            const kernels::shifted_planes planes{from,
                                                 shifts_.data() + first,
                                                 depth,
                                                 places_.data(),
                                                 static_cast<std::int64_t>(places_.size()),
                                                 row_ % 16 == 0};
            const float* w =
                packed.data() + kernels::packed_size(rows, 1) * static_cast<std::int64_t>(first);
            if (sliding_.stride == 1 && row_ == width_) {
                kernels::multiply_shifted(planes, w, start.data(), to, rows);
            } else {
                const std::span<float> some = part_.take(rows * height_ * row_);
                kernels::multiply_shifted(planes, w, start.data(), some.data(), rows);
                spread(some.data(), to, static_cast<std::int64_t>(part));
            }
        }
    }
}

SOTTO_DECL std::span<const float> direct_convolution_back::pack(std::span<const float> weights) {
    const std::int64_t rows = sliding_.input.channels;
    const std::int64_t area = sliding_.kernel * sliding_.kernel;
    const std::span<float> packed =
        packed_.take(kernels::packed_size(rows, static_cast<std::int64_t>(taps_.size())));
    for (std::size_t part = 0; part + 1 < taps_first_.size(); ++part) {
        const std::size_t first = taps_first_[part], last = taps_first_[part + 1];
        const auto depth = static_cast<std::int64_t>(last - first);
        float* to =
            packed.data() + kernels::packed_size(rows, 1) * static_cast<std::int64_t>(first);
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t block = r / kernels::packed_rows, row = r % kernels::packed_rows;
            float* next = to + block * kernels::packed_rows * depth + row;
            for (std::size_t k = first; k < last; ++k, next += kernels::packed_rows)
                *next = weights[static_cast<std::size_t>(taps_[k] + r * area)];
        }
    }
    return packed;
}

SOTTO_DECL void direct_convolution_back::spread(const float* from, float* image,
                                                std::int64_t part) const {
    const std::int64_t stride = sliding_.stride, width = sliding_.input.width;
    float* to = image + part / stride * width + part % stride;
    for (std::int64_t row = 0; row < sliding_.input.channels * height_; ++row) {
        for (std::int64_t x = 0; x < width_; ++x) to[x * stride] = from[x];
        from += row_;
        to += stride * width;
    }
}

}  // namespace sotto::detail::nn
