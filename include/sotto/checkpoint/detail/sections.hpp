#pragma once

#include <cstddef>
#include <cstdint>
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
inline std::string buffers_section(int rank) {
    return "buffers/rank" + std::to_string(rank);
}
/// The section of what one rank holds by itself.
inline std::string own_section(int rank) {
    return "state/rank" + std::to_string(rank);
}

/// Whether a name begins as a rank's section does: no state may call itself so.
inline bool begins_with_rank(std::string_view name) noexcept {
    if (!name.starts_with("rank")) return false;
    const std::size_t slash = name.find('/');
    return slash != name.npos && slash > 4 &&
           name.substr(4, slash - 4).find_first_not_of("0123456789") == name.npos;
}

/// The section of a tensor.
inline std::string section_of(std::string_view name) {
    const std::size_t first = name.find('/');
    if (first == name.npos) return std::string(name);
    const std::string_view kind = name.substr(0, first), rest = name.substr(first + 1);
    const bool of_a_rank = (kind == "buffers" || kind == "state") && begins_with_rank(rest);
    return std::string(name.substr(0, of_a_rank ? first + 1 + rest.find('/') : first));
}

/// The name of a section's digest in the metadata.
inline std::string digest_key(std::string_view section) {
    return "digest." + std::string(section);
}

}  // namespace sotto::detail::checkpoint
