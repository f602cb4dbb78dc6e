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

/// Reads a text from a file, one character per byte, with a vocabulary built from the file.
///   cost    1 byte per character; twice that while reading
///   errors  io_failure: a file that cannot be read;  all others as text_set, naming the file
text_set read_text(const std::string& path, text_set::windows cut = {});

/// Reads a text with an existing vocabulary, such as a trained model's.
///   errors  as above, and malformed: a character outside the vocabulary, with its position in the
///           file
text_set read_text(const std::string& path, const data::vocabulary& known,
                   text_set::windows cut = {});

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/read_text.ipp"
#endif
