#pragma once

#include <string>
#include <string_view>

namespace sotto::detail::checkpoint {

// Names of a checkpoint's tensors:
//   parameters/NAME         of the model
//   state/NAME              held alike by all ranks: optimizer, momentum of dense tensors
//   buffers/rankR/NAME      the model's buffers on rank R
//   state/rankR/NAME        held by rank R: its part of a sum, such as residuals and velocities, or
//                           its own values. If ranks have parameters of their own, NAME is
//                           parameters/NAME
//   digest                  XXH3-128 of all bytes before it, then of the header only; the last
//                           tensor
// A section is the part before NAME. Its tensors are contiguous, and its digest is in the metadata.

/// Name of the last tensor, which holds the closing digests.
inline constexpr std::string_view digest_name = "digest";

/// Returns the section of one rank's buffers.
std::string buffers_section(int rank);
/// Returns the section of one rank's own state.
std::string own_section(int rank);

/// True if a name begins like a rank's section, which no state may use.
bool begins_with_rank(std::string_view name) noexcept;

/// Returns the section of a tensor.
std::string section_of(std::string_view name);

/// Returns the name of a section's digest in the metadata.
std::string digest_key(std::string_view section);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/sections.ipp"
#endif
