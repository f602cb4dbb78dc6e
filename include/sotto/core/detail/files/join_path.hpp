#pragma once

#include <string>

namespace sotto::detail {

/// Returns the path of the entry `name` of a folder.
std::string join_path(const std::string& folder, const std::string& name);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/files/join_path.ipp"
#endif
