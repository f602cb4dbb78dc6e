#pragma once

#include "sotto/checkpoint/detail/group_folders.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL std::filesystem::path group_folder(const std::filesystem::path& folder, int group) {
    return folder / std::string(group_prefix).append(std::to_string(group));
}

SOTTO_DECL std::filesystem::path models_folder(const std::filesystem::path& folder, int group) {
    return group_folder(folder, group) / "models";
}

SOTTO_DECL std::filesystem::path writer_folder(const std::filesystem::path& folder, int group) {
    return group_folder(folder, group) / "writer";
}

SOTTO_DECL std::optional<int> group_of(std::string_view name) {
    if (!name.starts_with(group_prefix)) return std::nullopt;
    const std::string_view digits = name.substr(group_prefix.size());
    int group = 0;
    const auto [end, why] = std::from_chars(digits.data(), digits.data() + digits.size(), group);
    if (why != std::errc{} || group < 0 || std::to_string(group) != digits) return std::nullopt;
    return group;
}

SOTTO_DECL std::vector<int> groups_in(const disk& files, const std::filesystem::path& folder,
                                      std::error_code& why) {
    std::vector<int> groups;
    for (const std::string& name : files.list(folder, why))
        if (const auto group = group_of(name)) groups.push_back(*group);
    std::ranges::sort(groups);
    return groups;
}

}  // namespace sotto::detail::checkpoint
