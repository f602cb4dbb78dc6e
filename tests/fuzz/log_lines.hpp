#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/fuzz.hpp"
#include "sotto/logging/detail/json_lines_reader.hpp"
#include "sotto/logging/read_json_lines.hpp"

namespace sotto::fuzz {

/// Gives a reader the whole lines of a text, up to the one that it refuses.
inline void read_lines(detail::json_lines_reader& reader, std::string_view text) {
    std::int64_t lines = 0;
    try {
        for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
            ++lines;
            reader.line(text.substr(0, end));
        }
    } catch (const detail::malformed_log& e) {
        require(e.line() == lines, "the refused line is the one at hand");
    }
    require(reader.lines() == lines, "every line is counted");
}

}  // namespace sotto::fuzz
