#pragma once

#include <string>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"

namespace sotto::detail::checkpoint {

// A folder in which groups meet has one for each: FOLDER/group-0, FOLDER/group-1, ... What a group
// publishes is in a folder inside it, FOLDER/group-0/models, so that its training's checkpoints may
// be in FOLDER/group-0: neither counts, removes or locks what is the other's. FOLDER/group-0/writer
// is empty: whoever publishes all along has it locked.

/// What the name of a group's folder begins with.
inline constexpr std::string_view group_prefix = "group-";

/// Where everything of one group lies.
std::string group_folder(const std::string& folder, int group);

/// Where the models of a group are that others read.
std::string models_folder(const std::string& folder, int group);

/// What is locked as long as a group has a writer.
std::string writer_folder(const std::string& folder, int group);

/// The group of the name of a group's folder; nothing for other names.
std::optional<int> group_of(std::string_view name);

/// The groups that have a folder in this one, ascending.
std::vector<int> groups_in(const disk& files, const std::string& folder, std::error_code& why);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/group_folders.ipp"
#endif
