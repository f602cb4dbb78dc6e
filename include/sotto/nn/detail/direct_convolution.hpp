#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/kernels/detail/nn/shifted_planes.hpp"
#include "sotto/nn/detail/zero_padded.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {

/// How windows slide over an image.
struct sliding {
    sotto::nn::shape input;
    sotto::nn::shape output;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t padding = 0;

    // True if offsets fit 32 bits. A bordered image may be larger than the image.
    bool is_small() const noexcept;
};

/// A convolution without a matrix of patches: the kernels read the patches from a bordered copy of
/// the image. Requires an output width that is a multiple of 8.
class direct_convolution {
public:
    static bool fits(const sliding& s) noexcept { return s.output.width % 8 == 0 && s.is_small(); }

    direct_convolution() = default;
    explicit direct_convolution(const sliding& s);

    /// Computes y = W x + b for each example; `bias` may be empty.
    void forward(std::span<const float> weights, std::span<const float> bias,
                 std::span<const float> in, std::span<float> out);

    /// Computes dW += sum over examples of dy x^T.
    void add_weight_gradient(std::span<const float> in, std::span<const float> out_gradient,
                             std::span<float> gradient);

private:
    // Number of images summed in registers before lanes are summed. Four rows of their gradients
    // take up to 32 KiB, the first-level cache, and their bordered copies up to 512 KiB.
    std::int64_t together() const noexcept;

    kernels::shifted_planes planes_of(std::span<const float> in, std::int64_t first,
                                      std::int64_t images);

    sliding sliding_;
    zero_padded padded_;
    std::vector<std::int32_t> shifts_;
    std::vector<std::int32_t> places_;
    buffer<> copies_;
    buffer<> packed_;
    buffer<> start_;
};

/// The gradient of a convolution's input, computed as convolutions of the bordered output gradient.
/// There is one for each pixel of a stride x stride square, over the part of the filter that
/// reaches such pixels. Requires input sides that are multiples of the stride. Rows are computed in
/// whole octets. A row of width / stride pixels must fill at least two thirds of its octets.
class direct_convolution_back {
public:
    static bool fits(const sliding& s) noexcept;

    direct_convolution_back() = default;
    explicit direct_convolution_back(const sliding& s);

    void backward(std::span<const float> weights, std::span<const float> out_gradient,
                  std::span<float> in_gradient);

private:
    static std::int64_t whole_octets(std::int64_t width) noexcept { return (width + 7) / 8 * 8; }

    // Packs the filters by part, then by input channel: the rows of the product.
    std::span<const float> pack(std::span<const float> weights);

    // Writes every stride-th pixel of the image from the part's own on, without the padding of
    // octets.
    void spread(const float* from, float* image, std::int64_t part) const;

    sliding sliding_;
    zero_padded padded_;
    std::int64_t height_ = 0;  // of the pixels of one part
    std::int64_t width_ = 0;
    std::int64_t row_ = 0;                 // width_ rounded up to whole octets
    std::vector<std::size_t> taps_first_;  // of each part, and the end
    std::vector<std::int32_t> taps_;       // index of the weight for the input's first channel
    std::vector<std::int32_t> shifts_;     // offset of that weight's gradient
    std::vector<std::int32_t> places_;
    buffer<> copy_;
    buffer<> packed_;
    buffer<> start_;  // zeros
    buffer<> part_;
};

}  // namespace sotto::detail::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/detail/direct_convolution.ipp"
#endif
