#pragma once

#include "sotto/core/detail/files/absolute_path.hpp"

#include <filesystem>
#include <system_error>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail {

SOTTO_DECL std::string absolute_path(const std::string& path) {
    if (path.empty()) return path;
    std::error_code gone;
    const std::filesystem::path absolute = std::filesystem::absolute(path, gone);
    return gone ? path : absolute.string();
}

SOTTO_DECL std::string required_path(const std::string& whose, const std::string& path) {
    if (path.empty()) throw invalid_option(whose + ": the path is empty; expected a file's");
    return absolute_path(path);
}

}  // namespace sotto::detail
