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

/// What a stored byte means: (byte - mean) * scale. The default spreads 0..255 over [0, 1].
struct byte_scale {
    float mean = 0.0f;            // the byte that becomes 0
    float scale = 1.0f / 255.0f;  // what a step of one becomes
};

}  // namespace sotto::detail::data

namespace sotto::data {

/// Examples with labels in memory, as floats or as bytes that become floats when they are read. A
/// data set in the sense of sotto::dataset. Copies, and what take, subset and with_labels make,
/// share the memory, which nothing changes. All bytes mean the same, or those of each channel by a
/// scale of their own.
///   cost    1 or 4 bytes a value;  gather: one pass over the batch, no allocation once the largest
///           was seen
///   errors  invalid_option: a shape without elements, a number of values that is not labels x
///           shape, neither one scale nor one for each channel, a scale that is not finite, a
///           negative label, an index or a part outside the set
class labelled_set {
public:
    /// One example: planes of rows of values.
    struct example_shape {
        std::int64_t channels = 1;  // planes
        std::int64_t height = 1;    // rows of a plane
        std::int64_t width = 1;     // values of a row

        constexpr std::int64_t size() const noexcept { return channels * height * width; }
        friend constexpr bool operator==(const example_shape&, const example_shape&) = default;
    };

    using batch_type = labelled_batch;

    /// No examples.
    labelled_set() : labelled_set(example_shape{}, std::vector<float>{}, {}) {}

    /// Examples as floats, one after another, and a label each.
    labelled_set(example_shape shape, std::vector<float> inputs, std::vector<std::int32_t> labels)
        : labelled_set(shape, memory{std::move(inputs), {}, std::move(labels), {}}) {}

    /// Examples as bytes, all of which mean the same.
    labelled_set(example_shape shape, std::vector<std::uint8_t> inputs,
                 std::vector<std::int32_t> labels, detail::data::byte_scale meaning = {})
        : labelled_set(shape, std::move(inputs), std::move(labels), std::span(&meaning, 1)) {}

    /// Examples as bytes, which mean in each channel what its scale says.
    labelled_set(example_shape shape, std::vector<std::uint8_t> inputs,
                 std::vector<std::int32_t> labels,
                 std::span<const detail::data::byte_scale> of_channels);

    std::int64_t size() const noexcept { return size_; }
    /// Of one example.
    example_shape shape() const noexcept { return shape_; }

    /// One more than the largest label of the whole memory: parts of one set agree on it.
    std::int64_t classes() const noexcept { return classes_; }

    /// The label of an example.
    std::int32_t label(std::int64_t index) const { return labels()[place(index)]; }

    /// The stored bytes of an example; empty when floats are stored.
    std::span<const std::uint8_t> bytes(std::int64_t index) const;

    void gather(std::span<const std::int64_t> indices, labelled_batch& batch) const;

    /// The examples first..first+count-1.
    labelled_set take(std::int64_t first, std::int64_t count) const;

    /// These examples in this order; one may occur more than once. 8 bytes an example.
    labelled_set subset(std::span<const std::int64_t> indices) const;

    /// The same examples with other labels, one for each; classes() may grow. 4 bytes an example of
    /// the whole memory. Of an example that occurs twice both get the later one.
    ///   errors  invalid_option: another number of labels; a negative one
    labelled_set with_labels(std::span<const std::int32_t> labels) const;

private:
    using table = std::array<float, 256>;

    struct memory {
        std::vector<float> floats;
        std::vector<std::uint8_t> bytes;
        std::vector<std::int32_t> labels;
        std::vector<table> tables;  // what each byte means: in all channels, or in each one
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
    std::shared_ptr<const std::vector<std::int32_t>> labels_;  // null: those of the memory
    std::shared_ptr<const std::vector<std::size_t>> places_;   // null: the examples lie in order
};

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/labelled_set.ipp"
#endif
