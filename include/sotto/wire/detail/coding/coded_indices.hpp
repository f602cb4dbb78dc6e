#pragma once

#include <cstdint>

namespace sotto::detail::wire {

/// How the indices of one block are written. The numbers are part of the wire format.
///   run      indices that follow each other: the first one
///   rice     see rice_code
///   classes  see class_code
///   bitmap   see bitmap_code
enum class index_mode : std::uint8_t { run = 0, rice = 1, classes = 2, bitmap = 3 };

/// What encode_indices chose, and the bits it took before the last byte was filled.
struct coded_indices {
    index_mode mode = index_mode::run;  // the code
    std::int64_t bits = 0;              // exactly
};

/// Elements of the largest tensor.
inline constexpr std::int64_t index_code_n_max = std::int64_t{1} << 40;

}  // namespace sotto::detail::wire
