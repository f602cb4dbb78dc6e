#pragma once

#include "sotto/data/vocabulary.hpp"

#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::data {

SOTTO_DECL vocabulary::vocabulary(std::string_view text) {
    ids_.fill(absent);
    for (const char c : text) ids_[index(c)] = 0;
    for (std::size_t c = 0; c < ids_.size(); ++c)
        if (ids_[c] != absent) {
            ids_[c] = static_cast<std::int16_t>(size_);
            characters_[size_++] = static_cast<char>(c);
        }
}

SOTTO_DECL result<std::vector<std::uint8_t>> vocabulary::encode(std::string_view text) const {
    std::vector<std::uint8_t> ids(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::int16_t id = ids_[index(text[i])];
        if (id == absent)
            return detail::fault{static_cast<std::int64_t>(i), "a character of the vocabulary",
                                 static_cast<std::int64_t>(index(text[i]))};
        ids[i] = static_cast<std::uint8_t>(id);
    }
    return ids;
}

SOTTO_DECL char vocabulary::character(std::int64_t id) const {
    if (id < 0 || id >= size())
        throw invalid_option("vocabulary: asked for character " + std::to_string(id) +
                             "; expected 0 to " + std::to_string(size_) + " exclusive");
    return characters_[static_cast<std::size_t>(id)];
}

}  // namespace sotto::data
