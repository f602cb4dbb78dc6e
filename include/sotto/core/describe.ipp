#pragma once

#include "sotto/core/describe.hpp"

#include <cstddef>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void description::line(std::string_view name, std::string_view value) {
    append_in_line(prefix_);
    append_in_line(name);
    text_ += " = ";
    append_in_line(value);
    text_ += '\n';
}

SOTTO_DECL void description::append_in_line(std::string_view part) {
    for (std::size_t end; (end = part.find('\n')) != part.npos; part.remove_prefix(end + 1))
        text_.append(part.substr(0, end)).append("\\n");
    text_.append(part);
}

}  // namespace sotto::detail
