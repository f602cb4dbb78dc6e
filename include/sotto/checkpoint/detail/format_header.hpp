#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sotto/checkpoint/detail/file_header.hpp"
#include "sotto/core/bytes.hpp"

namespace sotto::detail::checkpoint {

/// Returns the line of a text that contains this byte.
std::string_view line_at(std::string_view text, std::size_t byte) noexcept;

void append_json(std::string& text, std::string_view value);

/// Throws if a header exceeds a limit of the reader.
void require_room(std::int64_t found, std::int64_t most, const std::string& of_what);

/// Returns the first bytes of a safetensors file: length and header. Metadata are first, then the
/// tensors in the order of their data.
///   errors  invalid_option: names that are not UTF-8; more than parse_header accepts: 16 MiB,
///           shapes of 16 extents, 4096 metadata
bytes format_header(const file_header& header);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/format_header.ipp"
#endif
