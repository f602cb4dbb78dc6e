#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sotto/checkpoint/detail/architecture.hpp"
#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/core/layout.hpp"

namespace sotto::detail::checkpoint {

/// The digest of names and shapes, then of all values.
digest digest_of_model(const architecture& kind, std::span<const float> parameters,
                       std::span<const float> buffers);

/// For messages: "[2, 3]".
std::string shown_shape(std::span<const std::int64_t> shape);

/// Refuses what a file has, tensors or buffers as `what` says, if they are not those expected.
///   errors  mismatch, which names the first that is missing, of another shape, in another place or
///           too many, what was expected and what was found
void require_alike(const std::string& file, const std::string& what, const layout& found,
                   std::span<const float> values, const layout& expected);

/// Writes a model into one file, for any reader of safetensors.
///   wire    a safetensors file: an F32 tensor under each of the names in kind.parameters, then
///           those in kind.buffers, and no other; metadata format = sotto.model_file,
///           format.version = 1, sotto.version, step, buffers (how many of the tensors are), digest
///           (XXH3-128 of names and shapes, then of all data). It appears whole or not at all
///   cost    the model once, synced
///   errors  the answer says what failed, and is empty where nothing did; what was there still is.
///           invalid_option: names that a parameter and a buffer have in common, or that are not
///           UTF-8; more of them than a header takes
std::string write_model_file(const disk& files, const std::string& path, const architecture& kind,
                             std::int64_t step, std::span<const float> parameters,
                             std::span<const float> buffers);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/model_file.ipp"
#endif
