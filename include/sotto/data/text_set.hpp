#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/data/labelled_batch.hpp"
#include "sotto/data/vocabulary.hpp"

namespace sotto::data {

/// Windows of a text in which each character has the next one as its label. Models sotto::dataset
/// for a language model. Copies and parts share the memory, which is immutable.
///   math    example i reads characters i * stride .. i * stride + length - 1; the label of each is
///           the number of the next character.  size() is the number of windows that fit:
///           (characters - length - 1) / stride + 1;  the remainder at the end is not read
///   shape   length floats, the characters' numbers, and length labels
///   cost    1 byte per character;  gather: one pass over the batch, no allocation after the
///           largest batch
///   errors  malformed: a character outside a given vocabulary;  invalid_option: a length below 1,
///           a negative stride, a text not longer than one window, an index or a part outside the
///           text
class text_set {
public:
    using batch_type = labelled_batch;

    /// Options that split a text into examples.
    struct windows {
        std::int64_t length = 64;  // characters of one example
        std::int64_t stride = 0;   // distance between the starts of two examples; 0: length
    };

    /// Uses the text's own characters as the vocabulary. `name` is the text's name in errors.
    explicit text_set(std::string_view text) : text_set(text, windows{}) {}
    /// The same with the given windows.
    explicit text_set(std::string_view text, windows cut, std::string_view name = "text")
        : text_set(text, data::vocabulary(text), cut, name) {}

    /// Uses an existing vocabulary, such as the training text's.
    text_set(std::string_view text, const data::vocabulary& known)
        : text_set(text, known, windows{}) {}
    /// The same with the given windows.
    text_set(std::string_view text, const data::vocabulary& known, windows cut,
             std::string_view name = "text");

    std::int64_t size() const noexcept;
    /// Characters of this part of the text.
    std::int64_t characters() const noexcept { return characters_; }
    /// Characters of an example.
    std::int64_t length() const noexcept { return windows_.length; }
    /// Distance between the starts of two examples.
    std::int64_t stride() const noexcept { return windows_.stride; }

    /// Vocabulary of the whole text, so parts of one text agree on it.
    const data::vocabulary& vocabulary() const noexcept { return memory_->known; }

    void gather(std::span<const std::int64_t> indices, labelled_batch& batch) const;

    /// Returns the characters first..first+count-1; the first window starts at `first`.
    text_set part(std::int64_t first, std::int64_t count) const;

private:
    struct memory {
        data::vocabulary known;
        std::vector<std::uint8_t> ids;
        std::string name;
    };

    void require_a_window() const;

    std::span<const std::uint8_t> window(std::int64_t index) const;

    std::shared_ptr<const memory> memory_;
    std::int64_t first_ = 0;
    std::int64_t characters_;
    windows windows_;
};

}  // namespace sotto::data

namespace sotto::detail::data {

/// Two parts of one text.
struct train_and_validation {
    sotto::data::text_set train;       // its beginning
    sotto::data::text_set validation;  // the rest
};

}  // namespace sotto::detail::data

namespace sotto::data {

/// Splits a text into its first part, for training, and the rest, for validation.
///   math    train: the first floor(share x characters)
///   errors  invalid_option: a share not in (0, 1), a part that is not longer than one window
detail::data::train_and_validation split(const text_set& text, double share = 0.9);

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/text_set.ipp"
#endif
