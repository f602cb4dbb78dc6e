#pragma once

#include <array>
#include <cstddef>
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
inline result<idx_header> parse_idx_header(byte_view file) {
    constexpr std::int64_t values_max = std::int64_t{1} << 40;
    const auto available = static_cast<std::int64_t>(file.size());
    const auto byte = [&](std::int64_t at) {
        return std::to_integer<std::int64_t>(file[static_cast<std::size_t>(at)]);
    };
    if (available < 4) return fault{available, "4 bytes of magic number", available};
    for (const std::int64_t at : {0, 1})
        if (byte(at) != 0) return fault{at, "a zero byte (IDX magic number)", byte(at)};
    if (byte(2) != 0x08) return fault{2, "element type 8 (unsigned byte)", byte(2)};
    if (byte(3) < 1 || byte(3) > 4) return fault{3, "a rank of 1 to 4", byte(3)};

    idx_header header;
    header.rank = static_cast<int>(byte(3));
    header.header_bytes = 4 + 4 * header.rank;
    if (available < header.header_bytes)
        return fault{available, "a header of 4 bytes and 4 for each dimension", available};
    header.values = 1;
    for (int i = 0; i < header.rank; ++i) {
        const std::int64_t at = 4 + 4 * i;
        const std::int64_t extent =
            byte(at) << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3);
        if (extent > 0 && header.values > values_max / extent)
            return fault{at, "at most 2^40 values in all: a smaller extent", extent};
        header.extents[static_cast<std::size_t>(i)] = extent;
        header.values *= extent;
    }
    return header;
}

/// Reads a whole IDX file: as many bytes as its header promises, neither fewer nor more.
///   errors  as parse_idx_header, and a fault: bytes missing or left over
inline result<idx_array> parse_idx(byte_view file) {
    const auto header = parse_idx_header(file);
    if (!header) return header.why();
    const auto available = static_cast<std::int64_t>(file.size());
    if (available < header->file_bytes())
        return fault{available, "bytes, as the header says", available, header->file_bytes()};
    if (available > header->file_bytes())
        return fault{header->file_bytes(), "the end of the file", available};
    return idx_array{*header, file.subspan(static_cast<std::size_t>(header->header_bytes))};
}

}  // namespace sotto::detail::data
