#pragma once

#include <string>
#include <string_view>

namespace sotto::detail {

std::string_view next_line(std::string_view& text);

/// Returns the first line "name = value" in which the text of one rank differs from another's, for
/// an error; empty if they are equal.
std::string difference(int rank, std::string_view theirs, int other,
                       std::string_view expected_of_it);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/memory/difference.ipp"
#endif
