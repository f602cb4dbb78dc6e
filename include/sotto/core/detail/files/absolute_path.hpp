#pragma once

#include <string>

namespace sotto::detail {

/// Returns the absolute path, for a program that changes its working directory later. An empty path
/// stays empty. If the working directory no longer exists, the path stays as it is.
std::string absolute_path(const std::string& path);

/// Returns the absolute path of a file that `whose` option names.
///   errors  invalid_option: the path is empty
std::string required_path(const std::string& whose, const std::string& path);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/files/absolute_path.ipp"
#endif
