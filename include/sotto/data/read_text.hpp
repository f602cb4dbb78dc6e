#pragma once

#include <string>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/data/text_set.hpp"
#include "sotto/data/vocabulary.hpp"

namespace sotto::detail::data {
std::string_view as_text(byte_view file);
}  // namespace sotto::detail::data

namespace sotto::data {

/// Reads a text from a file, every byte a character, with the file's own vocabulary.
///   cost    1 byte a character; while reading, twice that
///   errors  io_failure: a file that cannot be read;  all others as text_set, naming the file
text_set read_text(const std::string& path, text_set::windows cut = {});

/// Reads a text to be read by a model that learnt another one's vocabulary.
///   errors  as above, and malformed: a character that the vocabulary has not, with its place in
///           the file
text_set read_text(const std::string& path, const data::vocabulary& known,
                   text_set::windows cut = {});

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/read_text.ipp"
#endif
