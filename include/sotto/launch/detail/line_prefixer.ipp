#pragma once

#include "sotto/launch/detail/line_prefixer.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail::launch {

SOTTO_DECL void line_prefixer::take(std::string_view piece, std::string& out) {
    while (!piece.empty()) {
        const std::size_t end = piece.find('\n');
        const std::size_t count = (std::min)({end, piece.size(), line_bytes_max - line_.size()});
        line_.append(piece.substr(0, count));
        piece.remove_prefix(count);
        if (count == end)
            piece.remove_prefix(1);
        else if (piece.empty())
            return;  // the line is not complete
        put(out);
    }
}

SOTTO_DECL void line_prefixer::finish(std::string& out) {
    if (!line_.empty()) put(out);
}

SOTTO_DECL void line_prefixer::put(std::string& out) {
    out.append(prefix_).append(line_) += '\n';
    line_.clear();
}

}  // namespace sotto::detail::launch
