#pragma once

#include "sotto/trainer/model_path.hpp"

#include <filesystem>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/file_kind.hpp"

namespace sotto {

SOTTO_DECL std::string path_of_model(const std::string& path, const std::string& model) {
    if (model.empty() || detail::is_device(path)) return path;
    std::filesystem::path own = path;
    own.replace_filename(own.stem().string() + "." + model + own.extension().string());
    return own;
}

SOTTO_DECL std::string path_of_rank(const std::string& path, int rank) {
    if (rank == 0 || detail::is_device(path)) return path;
    std::filesystem::path own = path;
    own += ".rank" + std::to_string(rank);
    return own;
}

}  // namespace sotto
