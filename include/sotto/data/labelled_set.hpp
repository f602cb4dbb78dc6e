#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/data/labelled_batch.hpp"

namespace sotto::detail::data {

/// Maps a stored byte to (byte - mean) * scale. The default maps 0..255 to [0, 1].
struct byte_scale {
    float mean = 0.0f;            // byte that becomes 0
    float scale = 1.0f / 255.0f;  // float per byte step
};

}  // namespace sotto::detail::data

namespace sotto::data {

/// Labelled examples in memory, as floats or as bytes that become floats when read. Models
/// sotto::dataset. Copies and the results of take, subset and with_labels share the memory, which
/// is immutable. All bytes use one scale, or each channel uses its own.
///   cost    1 or 4 bytes per value;  gather: one pass over the batch, no allocation after the
///           largest batch
///   errors  invalid_option: a shape without elements, a number of values that is not
///           labels x shape, a number of scales other than 1 or the number of channels, a scale
///           that is not finite, a negative label, an index or a range outside the set
class labelled_set {
public:
    /// Shape of one example: planes of rows of values.
    struct example_shape {
        std::int64_t channels = 1;  // planes
        std::int64_t height = 1;    // rows per plane
        std::int64_t width = 1;     // values per row

        constexpr std::int64_t size() const noexcept { return channels * height * width; }
        friend constexpr bool operator==(const example_shape&, const example_shape&) = default;
    };

    using batch_type = labelled_batch;

    /// Creates an empty set.
    labelled_set() : labelled_set(example_shape{}, std::vector<float>{}, {}) {}

    /// Stores examples as floats, one after another, with one label each.
    labelled_set(example_shape shape, std::vector<float> inputs, std::vector<std::int32_t> labels)
        : labelled_set(shape, memory{std::move(inputs), {}, std::move(labels), {}}) {}

    /// Stores examples as bytes with one scale.
    labelled_set(example_shape shape, std::vector<std::uint8_t> inputs,
                 std::vector<std::int32_t> labels, detail::data::byte_scale meaning = {})
        : labelled_set(shape, std::move(inputs), std::move(labels), std::span(&meaning, 1)) {}

    /// Stores examples as bytes with one scale per channel.
    labelled_set(example_shape shape, std::vector<std::uint8_t> inputs,
                 std::vector<std::int32_t> labels,
                 std::span<const detail::data::byte_scale> of_channels);

    std::int64_t size() const noexcept { return size_; }
    /// Shape of one example.
    example_shape shape() const noexcept { return shape_; }

    /// One more than the largest label of the whole memory, so parts of one set agree on it.
    std::int64_t classes() const noexcept { return classes_; }

    /// Returns the label of an example.
    std::int32_t label(std::int64_t index) const { return labels()[place(index)]; }

    /// Returns the stored bytes of an example; empty if floats are stored.
    std::span<const std::uint8_t> bytes(std::int64_t index) const;

    void gather(std::span<const std::int64_t> indices, labelled_batch& batch) const;

    /// Returns the examples first..first+count-1.
    labelled_set take(std::int64_t first, std::int64_t count) const;

    /// Returns these examples in this order; an index may repeat. 8 bytes per example.
    labelled_set subset(std::span<const std::int64_t> indices) const;

    /// Returns the same examples with other labels, one for each; classes() may grow. 4 bytes per
    /// example of the whole memory. An example that occurs twice gets the later label in both
    /// places.
    ///   errors  invalid_option: a wrong number of labels; a negative label
    labelled_set with_labels(std::span<const std::int32_t> labels) const;

private:
    using table = std::array<float, 256>;

    struct memory {
        std::vector<float> floats;
        std::vector<std::uint8_t> bytes;
        std::vector<std::int32_t> labels;
        std::vector<table> tables;  // value of each byte: one table, or one per channel
    };

    labelled_set(example_shape shape, memory all);

    static std::string text(example_shape s);

    static std::vector<table> tables(std::span<const detail::data::byte_scale> meanings,
                                     std::int64_t channels);

    void translate(const std::uint8_t* from, std::span<float> to) const;

    const std::vector<std::int32_t>& labels() const noexcept;

    std::size_t width() const noexcept { return static_cast<std::size_t>(shape_.size()); }

    std::size_t place(std::int64_t index) const;

    example_shape shape_;
    std::int64_t first_ = 0;
    std::int64_t size_ = 0;
    std::int64_t classes_ = 0;
    std::shared_ptr<const memory> memory_;
    std::shared_ptr<const std::vector<std::int32_t>> labels_;  // null: the labels of the memory
    std::shared_ptr<const std::vector<std::size_t>> places_;   // null: examples are in memory order
};

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/labelled_set.ipp"
#endif
