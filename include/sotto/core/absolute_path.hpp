#pragma once

#include <filesystem>
#include <system_error>

namespace sotto::detail {

/// The same path for a program that changes its working directory afterwards. An empty path stays
/// empty; where the working directory does not exist any more, the path stays as it is.
inline std::filesystem::path absolute_path(const std::filesystem::path& path) {
    if (path.empty()) return path;
    std::error_code gone;
    std::filesystem::path absolute = std::filesystem::absolute(path, gone);
    return gone ? path : absolute;
}

}  // namespace sotto::detail
