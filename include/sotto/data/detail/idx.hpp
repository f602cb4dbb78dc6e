#pragma once

#include <array>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/result.hpp"

namespace sotto::detail::data {

/// What the first bytes of an IDX file promise.
struct idx_header {
    std::array<std::int64_t, 4> extents{1, 1, 1, 1};  // the slowest first; 1 from `rank` on
    int rank = 0;                                     // extents that the file has, 1 to 4
    std::int64_t header_bytes = 0;                    // before the values
    std::int64_t values = 0;  // the product of the extents: bytes behind the header

    /// Bytes of the whole file.
    std::int64_t file_bytes() const noexcept { return header_bytes + values; }
};

/// An array of unsigned bytes, still in the file's memory.
struct idx_array {
    idx_header header;  // how many values, and how they lie
    byte_view values;   // header.values bytes, row-major
};

/// Reads the header of an IDX file.
///   wire    2 zero bytes, element type (only 0x08, unsigned byte, is accepted), rank 1..4, then
///           each extent as 32 bits, most significant byte first
///   errors  a fault: too short, another type or rank, more than 2^40 values
///   source  the format of the MNIST database of LeCun, Cortes and Burges
result<idx_header> parse_idx_header(byte_view file);

/// Reads a whole IDX file: as many bytes as its header promises, neither fewer nor more.
///   errors  as parse_idx_header, and a fault: bytes missing or left over
result<idx_array> parse_idx(byte_view file);

}  // namespace sotto::detail::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/detail/idx.ipp"
#endif
