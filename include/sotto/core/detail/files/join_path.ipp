#pragma once

#include "sotto/core/detail/files/join_path.hpp"

#include <filesystem>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL std::string join_path(const std::string& folder, const std::string& name) {
    return (std::filesystem::path(folder) / name).string();
}

}  // namespace sotto::detail
