#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "sotto/core/errors.hpp"

namespace sotto::detail {

/// The same path for a program that changes its working directory afterwards. An empty path stays
/// empty; where the working directory does not exist any more, the path stays as it is.
inline std::filesystem::path absolute_path(const std::filesystem::path& path) {
    if (path.empty()) return path;
    std::error_code gone;
    std::filesystem::path absolute = std::filesystem::absolute(path, gone);
    return gone ? path : absolute;
}

/// The absolute path of a file that `whose` option names.
///   errors  invalid_option: the path is empty
inline std::filesystem::path required_path(const std::string& whose,
                                           const std::filesystem::path& path) {
    if (path.empty()) throw invalid_option(whose + ": the path is empty; expected a file's");
    return absolute_path(path);
}

}  // namespace sotto::detail
