#pragma once

#include <string>

#include "sotto/core/config.hpp"

namespace sotto {

/// Returns the file of one of several models that a job trains, so that each has its own. The
/// model's name precedes the extension: run.group-1.jsonl for run.jsonl. An only model has no name,
/// and its file is `path`. All models share a device, such as /dev/null.
std::string path_of_model(const std::string& path, const std::string& model);

/// Returns the file of a rank, if each rank writes one: PATH, PATH.rank1, PATH.rank2 and so on. All
/// ranks share a device.
std::string path_of_rank(const std::string& path, int rank);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/model_path.ipp"
#endif
