#pragma once

#include "sotto/checkpoint/detail/group_folders.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/join_path.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL std::string group_folder(const std::string& folder, int group) {
    return join_path(folder, std::string(group_prefix) + std::to_string(group));
}

SOTTO_DECL std::string models_folder(const std::string& folder, int group) {
    return join_path(group_folder(folder, group), "models");
}

SOTTO_DECL std::string writer_folder(const std::string& folder, int group) {
    return join_path(group_folder(folder, group), "writer");
}

SOTTO_DECL std::optional<int> group_of(std::string_view name) {
    if (!name.starts_with(group_prefix)) return std::nullopt;
    const std::string_view digits = name.substr(group_prefix.size());
    int group = 0;
    const auto [end, why] = std::from_chars(digits.data(), digits.data() + digits.size(), group);
    if (why != std::errc{} || group < 0 || std::to_string(group) != digits) return std::nullopt;
    return group;
}

SOTTO_DECL std::vector<int> groups_in(const disk& files, const std::string& folder,
                                      std::error_code& why) {
    std::vector<int> groups;
    for (const std::string& name : files.list(folder, why))
        if (const auto group = group_of(name)) groups.push_back(*group);
    std::ranges::sort(groups);
    return groups;
}

}  // namespace sotto::detail::checkpoint
