#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
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
                 std::span<const detail::data::byte_scale> of_channels)
        : labelled_set(
              shape,
              memory{
                  {}, std::move(inputs), std::move(labels), tables(of_channels, shape.channels)}) {}

    std::int64_t size() const noexcept { return size_; }
    /// Of one example.
    example_shape shape() const noexcept { return shape_; }

    /// One more than the largest label of the whole memory: parts of one set agree on it.
    std::int64_t classes() const noexcept { return classes_; }

    /// The label of an example.
    std::int32_t label(std::int64_t index) const { return labels()[place(index)]; }

    /// The stored bytes of an example; empty when floats are stored.
    std::span<const std::uint8_t> bytes(std::int64_t index) const {
        const std::size_t at = place(index);
        if (memory_->bytes.empty()) return {};
        return std::span(memory_->bytes).subspan(at * width(), width());
    }

    void gather(std::span<const std::int64_t> indices, labelled_batch& batch) const {
        batch.resize(static_cast<std::int64_t>(indices.size()), shape_.size());
        const std::size_t n = width();
        for (std::size_t i = 0; i < indices.size(); ++i) {
            const std::size_t at = place(indices[i]);
            const auto to = batch.inputs().subspan(i * n, n);
            if (memory_->bytes.empty())
                std::copy_n(memory_->floats.data() + at * n, n, to.data());
            else
                translate(memory_->bytes.data() + at * n, to);
            batch.labels()[i] = labels()[at];
        }
    }

    /// The examples first..first+count-1.
    labelled_set take(std::int64_t first, std::int64_t count) const {
        if (first < 0 || first > size_ || count < 0 || count > size_ - first)
            throw invalid_option("labelled_set: asked for " + std::to_string(count) +
                                 " examples from " + std::to_string(first) + " on; there are " +
                                 std::to_string(size_));
        labelled_set part = *this;
        part.first_ += first;
        part.size_ = count;
        return part;
    }

    /// These examples in this order; one may occur more than once. 8 bytes an example.
    labelled_set subset(std::span<const std::int64_t> indices) const {
        auto places = std::make_shared<std::vector<std::size_t>>();
        places->reserve(indices.size());
        for (const std::int64_t index : indices) places->push_back(place(index));
        labelled_set part = *this;
        part.places_ = std::move(places);
        part.first_ = 0;
        part.size_ = static_cast<std::int64_t>(indices.size());
        return part;
    }

    /// The same examples with other labels, one for each; classes() may grow. 4 bytes an example of
    /// the whole memory. Of an example that occurs twice both get the later one.
    ///   errors  invalid_option: another number of labels; a negative one
    labelled_set with_labels(std::span<const std::int32_t> labels) const {
        if (std::ssize(labels) != size_)
            throw invalid_option("labelled_set: " + std::to_string(labels.size()) + " labels for " +
                                 std::to_string(size_) + " examples");
        auto all = std::make_shared<std::vector<std::int32_t>>(this->labels());
        labelled_set changed = *this;
        for (std::int64_t i = 0; i < size_; ++i) {
            const std::int32_t label = labels[static_cast<std::size_t>(i)];
            if (label < 0)
                throw invalid_option("labelled_set: example " + std::to_string(i) + " has label " +
                                     std::to_string(label) + "; expected at least 0");
            (*all)[place(i)] = label;
            changed.classes_ = (std::max)(changed.classes_, std::int64_t{label} + 1);
        }
        changed.labels_ = std::move(all);
        return changed;
    }

private:
    using table = std::array<float, 256>;

    struct memory {
        std::vector<float> floats;
        std::vector<std::uint8_t> bytes;
        std::vector<std::int32_t> labels;
        std::vector<table> tables;  // what each byte means: in all channels, or in each one
    };

    labelled_set(example_shape shape, memory all)
        : shape_(shape), size_(static_cast<std::int64_t>(all.labels.size())) {
        constexpr std::int64_t most = (std::numeric_limits<std::int32_t>::max)();
        const auto in_range = [](std::int64_t n) { return n >= 1 && n <= most; };
        if (!in_range(shape.channels) || !in_range(shape.height) || !in_range(shape.width) ||
            !in_range(shape.height * shape.width) || !in_range(shape.size()))
            throw invalid_option("labelled_set: an example of " + text(shape) +
                                 " values; expected 1 to 2^31 - 1 values");
        const std::size_t stored = all.floats.size() + all.bytes.size();
        if (stored % width() != 0 || stored / width() != all.labels.size())
            throw invalid_option("labelled_set: " + std::to_string(stored) + " values for " +
                                 std::to_string(size_) + " labels; expected " + text(shape) +
                                 " for each");
        for (std::size_t i = 0; i < all.labels.size(); ++i) {
            if (all.labels[i] < 0)
                throw invalid_option("labelled_set: example " + std::to_string(i) + " has label " +
                                     std::to_string(all.labels[i]) + "; expected at least 0");
            classes_ = (std::max)(classes_, std::int64_t{all.labels[i]} + 1);
        }
        memory_ = std::make_shared<const memory>(std::move(all));
    }

    static std::string text(example_shape s) {
        return std::to_string(s.channels) + " x " + std::to_string(s.height) + " x " +
               std::to_string(s.width);
    }

    static std::vector<table> tables(std::span<const detail::data::byte_scale> meanings,
                                     std::int64_t channels) {
        if (meanings.size() != 1 && static_cast<std::int64_t>(meanings.size()) != channels)
            throw invalid_option("labelled_set: " + std::to_string(meanings.size()) +
                                 " byte scales for " + std::to_string(channels) +
                                 " channels; expected 1, or 1 for each channel");
        for (const detail::data::byte_scale& meaning : meanings) {
            require_option("labelled_set", "mean of a byte_scale", double{meaning.mean},
                           detail::allowed::any_finite());
            require_option("labelled_set", "scale of a byte_scale", double{meaning.scale},
                           detail::allowed::any_finite());
        }
        std::vector<table> all(meanings.size());
        for (std::size_t i = 0; i < all.size(); ++i)
            for (std::size_t byte = 0; byte < all[i].size(); ++byte)
                all[i][byte] = (static_cast<float>(byte) - meanings[i].mean) * meanings[i].scale;
        return all;
    }

    void translate(const std::uint8_t* from, std::span<float> to) const {
        const std::size_t plane = to.size() / memory_->tables.size();
        for (const table& values : memory_->tables) {
            std::transform(from, from + plane, to.data(),
                           [&](std::uint8_t byte) { return values[byte]; });
            from += plane;
            to = to.subspan(plane);
        }
    }

    const std::vector<std::int32_t>& labels() const noexcept {
        return labels_ ? *labels_ : memory_->labels;
    }

    std::size_t width() const noexcept { return static_cast<std::size_t>(shape_.size()); }

    std::size_t place(std::int64_t index) const {
        if (index < 0 || index >= size_)
            throw invalid_option("labelled_set: asked for example " + std::to_string(index) +
                                 "; expected 0 to " + std::to_string(size_) + " exclusive");
        const auto at = static_cast<std::size_t>(first_ + index);
        return places_ ? (*places_)[at] : at;
    }

    example_shape shape_;
    std::int64_t first_ = 0;
    std::int64_t size_ = 0;
    std::int64_t classes_ = 0;
    std::shared_ptr<const memory> memory_;
    std::shared_ptr<const std::vector<std::int32_t>> labels_;  // null: those of the memory
    std::shared_ptr<const std::vector<std::size_t>> places_;   // null: the examples lie in order
};

}  // namespace sotto::data
