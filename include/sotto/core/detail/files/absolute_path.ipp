#pragma once

#include "sotto/core/detail/files/absolute_path.hpp"

#include <system_error>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail {

SOTTO_DECL std::filesystem::path absolute_path(const std::filesystem::path& path) {
    if (path.empty()) return path;
    std::error_code gone;
    std::filesystem::path absolute = std::filesystem::absolute(path, gone);
    return gone ? path : absolute;
}

SOTTO_DECL std::filesystem::path required_path(const std::string& whose,
                                               const std::filesystem::path& path) {
    if (path.empty()) throw invalid_option(whose + ": the path is empty; expected a file's");
    return absolute_path(path);
}

}  // namespace sotto::detail
