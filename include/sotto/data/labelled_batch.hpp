#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/config.hpp"

namespace sotto::data {

/// What a classifier reads in one step: examples of `width` floats each, one after another, and
/// their labels: one for each, or as many for each as it has positions. Memory grows to the largest
/// batch seen and is kept.
class labelled_batch {
public:
    labelled_batch() = default;
    /// Room for so many examples of so many floats, and a label each.
    labelled_batch(std::int64_t size, std::int64_t width) { resize(size, width); }

    /// Makes room for `size` examples. What they hold is for the caller to write.
    void resize(std::int64_t size, std::int64_t width, std::int64_t labels_each = 1);

    /// Examples.
    std::int64_t size() const noexcept { return static_cast<std::int64_t>(size_); }
    /// Floats of an example.
    std::int64_t width() const noexcept { return static_cast<std::int64_t>(width_); }

    /// All examples, one after another.
    std::span<const float> inputs() const noexcept { return {inputs_.data(), size_ * width_}; }
    /// The same, to write.
    std::span<float> inputs() noexcept { return {inputs_.data(), size_ * width_}; }
    /// All labels, those of an example together.
    std::span<const std::int32_t> labels() const noexcept { return {labels_.data(), labels_size_}; }
    /// The same, to write.
    std::span<std::int32_t> labels() noexcept { return {labels_.data(), labels_size_}; }

private:
    std::size_t size_ = 0;
    std::size_t width_ = 0;
    std::size_t labels_size_ = 0;
    std::vector<float> inputs_;
    std::vector<std::int32_t> labels_;
};

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/labelled_batch.ipp"
#endif
