#pragma once

#include "sotto/data/read_text.hpp"

#include "sotto/core/config.hpp"
#include "sotto/data/detail/read_file.hpp"

namespace sotto::detail::data {

SOTTO_DECL std::string_view as_text(byte_view file) {
    return {reinterpret_cast<const char*>(file.data()), file.size()};
}

}  // namespace sotto::detail::data

namespace sotto::data {

SOTTO_DECL text_set read_text(const std::string& path, text_set::windows cut) {
    const bytes file = detail::data::read_file(path);
    return text_set(detail::data::as_text(file), cut, path);
}

SOTTO_DECL text_set read_text(const std::string& path, const data::vocabulary& known,
                              text_set::windows cut) {
    const bytes file = detail::data::read_file(path);
    return text_set(detail::data::as_text(file), known, cut, path);
}

}  // namespace sotto::data
