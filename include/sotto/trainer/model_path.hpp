#pragma once

#include <filesystem>
#include <string>

#include "sotto/core/detail/files/file_kind.hpp"

namespace sotto {

/// The file of one of several models that are trained at once, so that none writes over another's:
/// the model's name comes before the extension, run.group-1.jsonl for run.jsonl. Of the only model,
/// which has no name, it is the file itself. All models share a device, such as /dev/null.
inline std::filesystem::path path_of_model(const std::filesystem::path& path,
                                           const std::string& model) {
    if (model.empty() || detail::is_device(path)) return path;
    std::filesystem::path own = path;
    own.replace_filename(path.stem().string() + "." + model + path.extension().string());
    return own;
}

/// The file of one of several ranks that each write one: PATH, PATH.rank1, PATH.rank2 and so on.
/// All ranks share a device.
inline std::filesystem::path path_of_rank(const std::filesystem::path& path, int rank) {
    if (rank == 0 || detail::is_device(path)) return path;
    std::filesystem::path own = path;
    own += ".rank" + std::to_string(rank);
    return own;
}

}  // namespace sotto
