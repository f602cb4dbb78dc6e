#pragma once

#include "sotto/data/labelled_set.hpp"

#include <algorithm>
#include <limits>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::data {

SOTTO_DECL labelled_set::labelled_set(example_shape shape, std::vector<std::uint8_t> inputs,
                                      std::vector<std::int32_t> labels,
                                      std::span<const detail::data::byte_scale> of_channels)
    : labelled_set(
          shape,
          memory{{}, std::move(inputs), std::move(labels), tables(of_channels, shape.channels)}) {}

SOTTO_DECL std::span<const std::uint8_t> labelled_set::bytes(std::int64_t index) const {
    const std::size_t at = place(index);
    if (memory_->bytes.empty()) return {};
    return std::span(memory_->bytes).subspan(at * width(), width());
}

SOTTO_DECL void labelled_set::gather(std::span<const std::int64_t> indices,
                                     labelled_batch& batch) const {
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

SOTTO_DECL labelled_set labelled_set::take(std::int64_t first, std::int64_t count) const {
    if (first < 0 || first > size_ || count < 0 || count > size_ - first)
        throw invalid_option("labelled_set: asked for " + std::to_string(count) +
                             " examples from " + std::to_string(first) + " on; there are " +
                             std::to_string(size_));
    labelled_set part = *this;
    part.first_ += first;
    part.size_ = count;
    return part;
}

SOTTO_DECL labelled_set labelled_set::subset(std::span<const std::int64_t> indices) const {
    auto places = std::make_shared<std::vector<std::size_t>>();
    places->reserve(indices.size());
    for (const std::int64_t index : indices) places->push_back(place(index));
    labelled_set part = *this;
    part.places_ = std::move(places);
    part.first_ = 0;
    part.size_ = static_cast<std::int64_t>(indices.size());
    return part;
}

SOTTO_DECL labelled_set labelled_set::with_labels(std::span<const std::int32_t> labels) const {
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

SOTTO_DECL labelled_set::labelled_set(example_shape shape, memory all)
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

SOTTO_DECL std::string labelled_set::text(example_shape s) {
    return std::to_string(s.channels) + " x " + std::to_string(s.height) + " x " +
           std::to_string(s.width);
}

SOTTO_DECL std::vector<labelled_set::table> labelled_set::tables(
    std::span<const detail::data::byte_scale> meanings, std::int64_t channels) {
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

SOTTO_DECL void labelled_set::translate(const std::uint8_t* from, std::span<float> to) const {
    const std::size_t plane = to.size() / memory_->tables.size();
    for (const table& values : memory_->tables) {
        std::transform(from, from + plane, to.data(),
                       [&](std::uint8_t byte) { return values[byte]; });
        from += plane;
        to = to.subspan(plane);
    }
}

SOTTO_DECL const std::vector<std::int32_t>& labelled_set::labels() const noexcept {
    return labels_ ? *labels_ : memory_->labels;
}

SOTTO_DECL std::size_t labelled_set::place(std::int64_t index) const {
    if (index < 0 || index >= size_)
        throw invalid_option("labelled_set: asked for example " + std::to_string(index) +
                             "; expected 0 to " + std::to_string(size_) + " exclusive");
    const auto at = static_cast<std::size_t>(first_ + index);
    return places_ ? (*places_)[at] : at;
}

}  // namespace sotto::data
