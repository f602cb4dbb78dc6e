#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sotto/checkpoint/detail/file_header.hpp"
#include "sotto/checkpoint/detail/json_cursor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/result.hpp"

namespace sotto::detail::checkpoint {

std::optional<fault> parse_shape(json_cursor& in, std::vector<std::int64_t>& shape);

std::optional<fault> parse_offsets(json_cursor& in, tensor_entry& entry);

/// {"dtype": ..., "shape": [...], "data_offsets": [..., ...]}, each once, in any order.
std::optional<fault> parse_entry(json_cursor& in, tensor_entry& entry);

std::optional<fault> parse_metadata(json_cursor& in, file_header& header);

/// Whether the shape has as many elements as there are data: without computing what overflows.
std::optional<fault> check_size(const tensor_entry& entry);

/// Data lie one after another, from the first byte on; tensors without any, where they are named.
std::optional<fault> check_places(file_header& header);

std::optional<fault> check_names(const file_header& header);

/// How many bytes of JSON follow the first 8 bytes of a file.
///   errors  a fault: fewer than 8 bytes, more than 16 MiB
result<std::int64_t> parse_header_length(byte_view start);

/// Reads the header of a safetensors file from bytes that hold at least that: every length is
/// bounded before it is used, and nothing of the data is looked at.
///   cost    memory: no more than six times the JSON's length, which is at most 16 MiB, whatever it
///           says
///   errors  a fault: bytes missing; not JSON, or more of it than the format has; a key or name
///           twice; an unknown dtype; a shape that does not fit its data; data with gaps or
///           overlaps
result<file_header> parse_header(byte_view start);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/parse_header.ipp"
#endif
