#pragma once

#include <string>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"

namespace sotto::detail::checkpoint {

// Groups share a folder with one subfolder each: FOLDER/group-0, FOLDER/group-1, ... A group
// publishes models in FOLDER/group-0/models. Its training may write checkpoints into
// FOLDER/group-0: neither counts, removes or locks the files of the other. FOLDER/group-0/writer is
// empty. A process that publishes during its whole run locks it.

/// First part of the name of a group's folder.
inline constexpr std::string_view group_prefix = "group-";

/// Returns the folder of one group.
std::string group_folder(const std::string& folder, int group);

/// Returns the folder of the models that a group publishes.
std::string models_folder(const std::string& folder, int group);

/// Returns the folder that is locked while a group has a writer.
std::string writer_folder(const std::string& folder, int group);

/// Returns the group in the name of a group's folder; nothing for other names.
std::optional<int> group_of(std::string_view name);

/// Returns the groups that have a folder in this one, ascending.
std::vector<int> groups_in(const disk& files, const std::string& folder, std::error_code& why);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/group_folders.ipp"
#endif
