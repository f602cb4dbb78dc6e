#pragma once

#include <string>

#include "sotto/core/config.hpp"

namespace sotto {

/// The file of one of several models that are trained at once, so that none writes over another's:
/// the model's name comes before the extension, run.group-1.jsonl for run.jsonl. Of the only model,
/// which has no name, it is the file itself. All models share a device, such as /dev/null.
std::string path_of_model(const std::string& path, const std::string& model);

/// The file of one of several ranks that each write one: PATH, PATH.rank1, PATH.rank2 and so on.
/// All ranks share a device.
std::string path_of_rank(const std::string& path, int rank);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/model_path.ipp"
#endif
