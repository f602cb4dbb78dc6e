#pragma once

#include "sotto/core/detail/processes/process_identity.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/number_text.hpp"

namespace sotto::detail {

SOTTO_DECL std::optional<process_stat> read_process_stat(std::string_view text) {
    process_stat found;
    const std::size_t name_end = text.rfind(')');
    if (name_end == text.npos) return std::nullopt;
    if (!read_number(text.substr(0, text.find(' ')), found.id)) return std::nullopt;
    std::string_view rest = text.substr(name_end + 1);
    constexpr int state = 3, threads = 20, started = 22;  // numbers of fields in proc(5)
    for (int field = state; field <= started; ++field) {
        if (rest.empty() || rest.front() != ' ') return std::nullopt;
        rest.remove_prefix(1);
        const std::string_view word = rest.substr(0, rest.find_first_of(" \n"));
        rest.remove_prefix(word.size());
        if (field == state && word.size() == 1) found.state = word.front();
        if (field == threads && !read_number(word, found.threads)) return std::nullopt;
        if (field == started && !read_number(word, found.started)) return std::nullopt;
    }
    return found;
}

SOTTO_DECL bool is_dead(const process_stat& process) noexcept {
    return process.state == 'X' || process.state == 'x' ||
           (process.state == 'Z' && process.threads <= 1);
}

}  // namespace sotto::detail
