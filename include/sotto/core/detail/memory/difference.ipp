#pragma once

#include "sotto/core/detail/memory/difference.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL std::string_view next_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix((std::min)(text.size(), line.size() + 1));
    return line;
}

SOTTO_DECL std::string difference(int rank, std::string_view theirs, int other,
                                  std::string_view expected_of_it) {
    while (!theirs.empty() || !expected_of_it.empty()) {
        const std::string_view found = next_line(theirs), expected = next_line(expected_of_it);
        if (found == expected) continue;
        const auto shown = [](std::string_view line) {
            return line.empty() ? std::string("nothing") : std::string(line);
        };
        return "rank " + std::to_string(rank) + " has '" + shown(found) + "' where rank " +
               std::to_string(other) + " has '" + shown(expected) + "'";
    }
    return {};
}

}  // namespace sotto::detail
