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

/// Parses {"dtype": ..., "shape": [...], "data_offsets": [..., ...]}, each key once, in any order.
std::optional<fault> parse_entry(json_cursor& in, tensor_entry& entry);

std::optional<fault> parse_metadata(json_cursor& in, file_header& header);

/// Checks that shape and data have the same size, without overflow.
std::optional<fault> check_size(const tensor_entry& entry);

/// Checks that the data are contiguous from the first byte on. Sorts the tensors by place; a tensor
/// without data stays where it is named.
std::optional<fault> check_places(file_header& header);

std::optional<fault> check_names(const file_header& header);

/// Returns the bytes of JSON after the first 8 bytes of a file.
///   errors  a fault: fewer than 8 bytes, more than 16 MiB
result<std::int64_t> parse_header_length(byte_view start);

/// Reads the header of a safetensors file from bytes that hold at least the header. It bounds every
/// length before use and does not look at the data.
///   cost    memory: at most six times the JSON's length, which is at most 16 MiB, for any content
///   errors  a fault: bytes missing; not JSON, or JSON that the format does not allow; a key or
///           name twice; an unknown dtype; a shape that does not fit its data; data with gaps or
///           overlaps
result<file_header> parse_header(byte_view start);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/parse_header.ipp"
#endif
