#pragma once

#include <array>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/result.hpp"

namespace sotto::detail::data {

/// The header of an IDX file.
struct idx_header {
    std::array<std::int64_t, 4> extents{1, 1, 1, 1};  // slowest first; 1 from `rank` on
    int rank = 0;                                     // number of extents in the file, 1 to 4
    std::int64_t header_bytes = 0;                    // bytes before the values
    std::int64_t values = 0;  // product of the extents: bytes after the header

    /// Bytes of the whole file.
    std::int64_t file_bytes() const noexcept { return header_bytes + values; }
};

/// An array of unsigned bytes, as a view of the file's bytes.
struct idx_array {
    idx_header header;  // number and shape of the values
    byte_view values;   // header.values bytes, row-major
};

/// Parses the header of an IDX file.
///   wire    2 zero bytes, element type (only 0x08, unsigned byte, is accepted), rank 1..4, then
///           each extent as 32 bits, most significant byte first
///   errors  a fault: too short, another type or rank, more than 2^40 values
///   source  the format of the MNIST database of LeCun, Cortes and Burges
result<idx_header> parse_idx_header(byte_view file);

/// Parses a whole IDX file, which must have exactly the size in its header.
///   errors  as parse_idx_header, and a fault: missing or extra bytes
result<idx_array> parse_idx(byte_view file);

}  // namespace sotto::detail::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/detail/idx.ipp"
#endif
