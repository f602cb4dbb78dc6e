#pragma once

#include "sotto/data/detail/idx.hpp"

#include <cstddef>

#include "sotto/core/config.hpp"

namespace sotto::detail::data {

SOTTO_DECL result<idx_header> parse_idx_header(byte_view file) {
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

SOTTO_DECL result<idx_array> parse_idx(byte_view file) {
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
