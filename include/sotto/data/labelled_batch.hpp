#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/config.hpp"

namespace sotto::data {

/// One batch for a classifier: examples of `width` floats each, contiguous, and their labels. An
/// example has one label, or one per position. Memory grows to the largest batch so far and is
/// kept.
class labelled_batch {
public:
    labelled_batch() = default;
    /// Allocates `size` examples of `width` floats with one label each.
    labelled_batch(std::int64_t size, std::int64_t width) { resize(size, width); }

    /// Allocates `size` examples. The caller writes their values.
    void resize(std::int64_t size, std::int64_t width, std::int64_t labels_each = 1);

    /// Number of examples.
    std::int64_t size() const noexcept { return static_cast<std::int64_t>(size_); }
    /// Floats per example.
    std::int64_t width() const noexcept { return static_cast<std::int64_t>(width_); }

    /// All examples, one after another.
    std::span<const float> inputs() const noexcept { return {inputs_.data(), size_ * width_}; }
    /// Writable inputs.
    std::span<float> inputs() noexcept { return {inputs_.data(), size_ * width_}; }
    /// All labels, grouped by example.
    std::span<const std::int32_t> labels() const noexcept { return {labels_.data(), labels_size_}; }
    /// Writable labels.
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
