#pragma once

#include "sotto/checkpoint/detail/sections.hpp"

#include <cstddef>

#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL std::string buffers_section(int rank) {
    return "buffers/rank" + std::to_string(rank);
}

SOTTO_DECL std::string own_section(int rank) {
    return "state/rank" + std::to_string(rank);
}

SOTTO_DECL bool begins_with_rank(std::string_view name) noexcept {
    if (!name.starts_with("rank")) return false;
    const std::size_t slash = name.find('/');
    return slash != name.npos && slash > 4 &&
           name.substr(4, slash - 4).find_first_not_of("0123456789") == name.npos;
}

SOTTO_DECL std::string section_of(std::string_view name) {
    const std::size_t first = name.find('/');
    if (first == name.npos) return std::string(name);
    const std::string_view kind = name.substr(0, first), rest = name.substr(first + 1);
    const bool of_a_rank = (kind == "buffers" || kind == "state") && begins_with_rank(rest);
    return std::string(name.substr(0, of_a_rank ? first + 1 + rest.find('/') : first));
}

SOTTO_DECL std::string digest_key(std::string_view section) {
    return "digest." + std::string(section);
}

}  // namespace sotto::detail::checkpoint
