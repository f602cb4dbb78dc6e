#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sotto/checkpoint/detail/architecture.hpp"
#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/core/layout.hpp"

namespace sotto::detail::checkpoint {

/// Returns the digest of names and shapes, then of all values.
digest digest_of_model(const architecture& kind, std::span<const float> parameters,
                       std::span<const float> buffers);

/// Returns a shape for messages: "[2, 3]".
std::string shown_shape(std::span<const std::int64_t> shape);

/// Refuses tensors or buffers of a file, as `what` names them, that differ from the expected ones.
///   errors  mismatch, which names the first that is missing, of another shape, in another place or
///           additional, what was expected and what was found
void require_alike(const std::string& file, const std::string& what, const layout& found,
                   std::span<const float> values, const layout& expected);

/// Writes a model into one file, for any reader of safetensors.
///   wire    a safetensors file: an F32 tensor for each name in kind.parameters, then in
///           kind.buffers, and no other; metadata format = sotto.model_file, format.version = 1,
///           sotto.version, step, buffers (number of tensors that are buffers), digest (XXH3-128 of
///           names and shapes, then of all data). It appears whole or not at all
///   cost    writes the model once, synced
///   errors  returns the failure, or an empty text; an existing file stays on failure.
///           invalid_option: names that a parameter and a buffer share, or that are not UTF-8; more
///           of them than a header holds
std::string write_model_file(const disk& files, const std::string& path, const architecture& kind,
                             std::int64_t step, std::span<const float> parameters,
                             std::span<const float> buffers);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/model_file.ipp"
#endif
