#pragma once

#include <filesystem>
#include <string>

namespace sotto {

/// The file of one of several models that are trained at once, so that none writes over another's:
/// the model's name comes before the extension, run.group-1.jsonl for run.jsonl. Of the only model,
/// which has no name, it is the file itself.
inline std::filesystem::path path_of_model(const std::filesystem::path& path,
                                           const std::string& model) {
    if (model.empty()) return path;
    std::filesystem::path own = path;
    own.replace_filename(path.stem().string() + "." + model + path.extension().string());
    return own;
}

}  // namespace sotto
