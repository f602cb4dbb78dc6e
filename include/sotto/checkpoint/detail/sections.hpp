#pragma once

#include <string>
#include <string_view>

namespace sotto::detail::checkpoint {

// What a checkpoint's tensors are called:
//   parameters/NAME         of the model
//   state/NAME              what all ranks hold alike: optimizer, momentum of dense tensors
//   buffers/rankR/NAME      the model's buffers on rank R
//   state/rankR/NAME        what rank R holds of a sum: residuals, velocities; or has for its own.
//                           Where ranks have parameters of their own NAME is parameters/NAME
//   digest                  XXH3-128 of all bytes before it, then of the header alone; the last one
// A section is what comes before NAME. Its tensors lie together, and its digest is in the metadata.

/// What the name of a section's digest ends with.
inline constexpr std::string_view digest_name = "digest";

/// The section of one rank's buffers.
std::string buffers_section(int rank);
/// The section of what one rank holds by itself.
std::string own_section(int rank);

/// Whether a name begins as a rank's section does: no state may call itself so.
bool begins_with_rank(std::string_view name) noexcept;

/// The section of a tensor.
std::string section_of(std::string_view name);

/// The name of a section's digest in the metadata.
std::string digest_key(std::string_view section);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/sections.ipp"
#endif
