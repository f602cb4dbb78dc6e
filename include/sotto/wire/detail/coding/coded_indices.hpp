#pragma once

#include <cstdint>

namespace sotto::detail::wire {

/// Code of the indices of one block. The numbers are part of the wire format.
///   run      consecutive indices: the first one
///   rice     see rice_code
///   classes  see class_code
///   bitmap   see bitmap_code
enum class index_mode : std::uint8_t { run = 0, rice = 1, classes = 2, bitmap = 3 };

/// Code that encode_indices chose, and its bits before the padding of the last byte.
struct coded_indices {
    index_mode mode = index_mode::run;  // the code
    std::int64_t bits = 0;              // exact number
};

/// Elements of the largest tensor.
inline constexpr std::int64_t index_code_n_max = std::int64_t{1} << 40;

}  // namespace sotto::detail::wire
