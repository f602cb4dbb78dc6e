#pragma once

#include <string>

namespace sotto::detail {

/// The same path for a program that changes its working directory afterwards. An empty path stays
/// empty; where the working directory does not exist any more, the path stays as it is.
std::string absolute_path(const std::string& path);

/// The absolute path of a file that `whose` option names.
///   errors  invalid_option: the path is empty
std::string required_path(const std::string& whose, const std::string& path);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/files/absolute_path.ipp"
#endif
