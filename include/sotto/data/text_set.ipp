#pragma once

#include "sotto/data/text_set.hpp"

#include <algorithm>
#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/core/result.hpp"

namespace sotto::data {

SOTTO_DECL text_set::text_set(std::string_view text, const data::vocabulary& known, windows cut,
                              std::string_view name)
    : memory_(std::make_shared<const memory>(memory{
          known, known.encode(text).value([&] { return std::string(name); }), std::string(name)})),
      characters_(static_cast<std::int64_t>(text.size())),
      windows_(cut) {
    require_option("text_set", "length", windows_.length, detail::allowed::at_least(1));
    require_option("text_set", "stride", windows_.stride, detail::allowed::at_least(0),
                   ", where 0 is the length");
    if (windows_.stride == 0) windows_.stride = windows_.length;
    require_a_window();
}

SOTTO_DECL std::int64_t text_set::size() const noexcept {
    return (characters_ - windows_.length - 1) / windows_.stride + 1;
}

SOTTO_DECL void text_set::gather(std::span<const std::int64_t> indices,
                                 labelled_batch& batch) const {
    const auto length = static_cast<std::size_t>(windows_.length);
    batch.resize(static_cast<std::int64_t>(indices.size()), windows_.length, windows_.length);
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::span<const std::uint8_t> read = window(indices[i]);
        std::copy_n(read.begin(), length, batch.inputs().subspan(i * length, length).begin());
        std::copy_n(read.begin() + 1, length, batch.labels().subspan(i * length, length).begin());
    }
}

SOTTO_DECL text_set text_set::part(std::int64_t first, std::int64_t count) const {
    if (first < 0 || first > characters_ || count < 0 || count > characters_ - first)
        throw invalid_option("text_set: asked for " + std::to_string(count) + " characters of " +
                             memory_->name + " from " + std::to_string(first) + " on; there are " +
                             std::to_string(characters_));
    text_set part = *this;
    part.first_ += first;
    part.characters_ = count;
    part.require_a_window();
    return part;
}

SOTTO_DECL void text_set::require_a_window() const {
    if (characters_ <= windows_.length)
        throw invalid_option("text_set: " + std::to_string(characters_) + " characters of " +
                             memory_->name + " from " + std::to_string(first_) +
                             " on; expected more than " + std::to_string(windows_.length) +
                             ", the length of a window");
}

SOTTO_DECL std::span<const std::uint8_t> text_set::window(std::int64_t index) const {
    if (index < 0 || index >= size())
        throw invalid_option("text_set: asked for example " + std::to_string(index) +
                             "; expected 0 to " + std::to_string(size()) + " exclusive");
    return std::span(memory_->ids)
        .subspan(static_cast<std::size_t>(first_ + index * windows_.stride),
                 static_cast<std::size_t>(windows_.length + 1));
}

SOTTO_DECL detail::data::train_and_validation split(const text_set& text, double share) {
    require_option("split", "share", share, detail::allowed::above(0.0).below(1.0));
    const auto first = static_cast<std::int64_t>(share * static_cast<double>(text.characters()));
    return {text.part(0, first), text.part(first, text.characters() - first)};
}

}  // namespace sotto::data
