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

/// Windows of a text, each character with the one after it as its label: a data set in the sense of
/// sotto::dataset for a model that predicts text. Copies and parts share the memory, which nothing
/// changes.
///   math    example i reads characters i * stride .. i * stride + length - 1; the label of each is
///           the number of the character behind it.  size() is all that fit:
///           (characters - length - 1) / stride + 1;  what is left at the end is not read
///   shape   length floats, numbers of characters, and length labels
///   cost    1 byte a character;  gather: one pass over the batch, no allocation once the largest
///           was seen
///   errors  malformed: a character outside a vocabulary that was given;  invalid_option: a length
///           below 1, a negative stride, a text shorter than one window and the character behind
///           it, an index or a part outside the text
class text_set {
public:
    using batch_type = labelled_batch;

    /// How a text is cut into examples.
    struct windows {
        std::int64_t length = 64;  // characters that a model reads in one example
        std::int64_t stride = 0;  // characters from the start of one to that of the next; 0: length
    };

    /// With the text's own characters as the vocabulary. `name` is what errors call the text.
    explicit text_set(std::string_view text) : text_set(text, windows{}) {}
    /// The same, cut as the windows say.
    explicit text_set(std::string_view text, windows cut, std::string_view name = "text")
        : text_set(text, data::vocabulary(text), cut, name) {}

    /// By a vocabulary that was made before, as of the text trained on.
    text_set(std::string_view text, const data::vocabulary& known)
        : text_set(text, known, windows{}) {}
    /// The same, cut as the windows say.
    text_set(std::string_view text, const data::vocabulary& known, windows cut,
             std::string_view name = "text");

    std::int64_t size() const noexcept;
    /// Of this part of the text.
    std::int64_t characters() const noexcept { return characters_; }
    /// Characters of an example.
    std::int64_t length() const noexcept { return windows_.length; }
    /// Characters from one example's beginning to the next one's.
    std::int64_t stride() const noexcept { return windows_.stride; }

    /// That of the whole text: parts of one text agree on it.
    const data::vocabulary& vocabulary() const noexcept { return memory_->known; }

    void gather(std::span<const std::int64_t> indices, labelled_batch& batch) const;

    /// The characters first..first+count-1, cut into windows from their start on.
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

/// The first part of a text to learn from, and the rest to be validated with.
///   math    train: the first floor(share x characters)
///   errors  invalid_option: a share that is not between 0 and 1, a part shorter than one window
///           and the character behind it
detail::data::train_and_validation split(const text_set& text, double share = 0.9);

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/text_set.ipp"
#endif
